//! The SQL statements about records, and their values.

use tokio_postgres::types::Type;

use crate::postgres::database::Value;
use crate::postgres::owner::is_free;

/// The record is begun; its temporary files can be missing or incomplete.
pub(crate) const BEGUN: i16 = 0;
/// All temporary files are complete.
pub(crate) const PREPARED: i16 = 1;
/// The transaction is committed: recovery completes it.
pub(crate) const COMMITTED: i16 = 2;

/// Adds a record. Values: owner, claim, contents, the process that creates it, the keys of the files, their
/// paths.
pub(crate) const BEGIN: &str = "with made as (
        insert into records (owner, claim, contents, made_by) values ($1, $2, $3, $4) returning id
    ), named as (
        insert into record_files (key, path, record) select file.key, file.path, made.id
            from made, unnest($5, $6) as file (key, path)
    )
    select id from made";

/// Changes the state of a record. Values: claim, owner, the old state, the new state, contents. Repeating the
/// statement changes nothing.
pub(crate) const CHANGE: &str = "update records set state = $4, contents = coalesce($5, contents)
    where claim = $1 and owner = $2 and state in ($3, $4) returning id";

/// Selects a record if this owner still has it. Values: claim, owner.
pub(crate) const PROVE: &str = "select id from records where claim = $1 and owner = $2";

/// Assigns a record to another session of its owner. Values: claim, the key of the new session.
pub(crate) const ADOPT: &str = "update records set owner = $2 where claim = $1 returning state";

/// Deletes a record. Values: claim.
pub(crate) const END: &str = "delete from records where claim = $1";

/// Releases a record. Afterwards, any process may take it over. Values: claim.
pub(crate) const RELEASE: &str = "update records set owner = 0 where claim = $1";

/// Takes an abandoned record over. Values: its claim, the new claim, the key of the new session.
pub(crate) const TAKE_OVER: &str = concat!(
    "update records r set claim = $2, owner = $3, epoch = epoch + 1 where r.claim = $1 and ",
    is_free!(),
    " returning r.epoch, r.state, r.contents"
);

/// Returns all records, and whether each is abandoned; `FoundRow` reads the columns.
pub(crate) const ALL: &str =
    concat!("select r.id, r.claim, r.epoch, r.state, r.contents, ", is_free!(), " from records r");

/// Returns the columns of [`ALL`] for the abandoned records whose files can be partly changed.
pub(crate) const ABANDONED: &str = concat!(
    "select r.id, r.claim, r.epoch, r.state, r.contents, true from records r where r.state > 0 and ",
    is_free!()
);

/// Returns the columns of [`ALL`] for the records that name one of these files. Values: the keys of the
/// files.
pub(crate) const NAMING: &str = concat!(
    "select r.id, r.claim, r.epoch, r.state, r.contents, ",
    is_free!(),
    " from records r where r.id in (select f.record from record_files f where f.key = any($1))"
);

/// Selects a record if it exists. Values: claim.
pub(crate) const IS_THERE: &str = "select id from records where claim = $1";

pub(crate) fn number(number: i64) -> Value {
    (Box::new(number), Type::INT8)
}

pub(crate) fn state(state: i16) -> Value {
    (Box::new(state), Type::INT2)
}

pub(crate) fn text(text: impl Into<Option<String>>) -> Value {
    (Box::new(text.into()), Type::TEXT)
}

pub(crate) fn texts(texts: Vec<String>) -> Value {
    (Box::new(texts), Type::TEXT_ARRAY)
}

pub(crate) fn keys(keys: Vec<Vec<u8>>) -> Value {
    (Box::new(keys), Type::BYTEA_ARRAY)
}
