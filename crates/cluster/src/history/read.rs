//! Reads edits from the database: [`page`], [`chain`]. [`EditRow::here`] converts an edit to the paths of
//! this machine.
//!
//! Turns a filter into a condition of SQL, [`Conditions`], and a path of this machine into its shared names,
//! [`KeyRanges`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_store::backend::{Chains, MoveSince};
use mcp_text_editor_store::{
    ChangeKind, EditFilter as Filter, EditId, Entry, EntryFile, KnownRoot, NotKept, Remedy, RootPlace, Undo,
    backend as os,
};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use crate::postgres::database::{Value, borrowed};
use crate::postgres::error::DatabaseError;
use crate::postgres::migrations::MARK;
use crate::root_names::{RootName, RootNames, SharedPath};

/// An edit as it is in the database.
pub(super) struct EditRow {
    pub(super) number: i64,
    edit: Row,
    files: Vec<Row>,
    chains: Arc<Chains>,
}

/// Returns the newest edits that meet the conditions, at most `limit`, with their undo data if `with_undo` is
/// set.
pub(super) async fn page(
    client: &Client,
    conditions: Conditions,
    limit: usize,
    with_undo: bool,
) -> Result<Vec<EditRow>, Error> {
    let mut values = conditions.values();
    values.push((Box::new(i64::try_from(limit).unwrap_or(i64::MAX)), Type::INT8));
    let statement = format!(
        "select e.number, e.id, e.time, e.tool, e.client, e.session, e.undoes,
            e.undoes is not null or exists (select from edits u where u.undoes = e.id)
        from edits e {WHERE} order by e.number desc limit $14"
    );
    let edits = client.query_typed(&statement, &borrowed(&values)).await?;
    let numbers: Vec<i64> = edits.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let undo = if with_undo { "undo" } else { "''::bytea" };
    let statement = format!(
        "select edit, root, path, relative, encoding, kind, before, after, diff, {undo}
        from edit_files where edit = any($1) order by edit, position"
    );
    let rows = client.query_typed(&statement, &[(&numbers, Type::INT8_ARRAY)]).await?;
    let chains = Arc::new(chains(client, &edits).await?);
    let mut found: Vec<EditRow> = edits
        .into_iter()
        .zip(numbers)
        .map(|(edit, number)| EditRow { number, edit, files: Vec::new(), chains: Arc::clone(&chains) })
        .collect();
    for row in rows {
        let of: i64 = row.try_get(0)?;
        if let Some(found) = found.iter_mut().find(|found| found.number == of) {
            found.files.push(row);
        }
    }
    Ok(found)
}

/// Reads the undo chains of these edits, except chains of a single edit.
async fn chains(client: &Client, edits: &[Row]) -> Result<Chains, Error> {
    let mut numbers: Vec<i64> = Vec::new();
    for row in edits {
        if row.try_get(7)? {
            numbers.push(row.try_get(0)?);
        }
    }
    let mut chains = Chains::default();
    if numbers.is_empty() {
        return Ok(chains);
    }
    let statement = "with recursive chain (number, id, undoes) as (
            select number, id, undoes from edits where number = any($1)
            union
            select e.number, e.id, e.undoes from chain c join edits e on e.id = c.undoes or e.undoes = c.id
        ) select id, undoes from chain order by number";
    for row in client.query_typed(statement, &[(&numbers, Type::INT8_ARRAY)]).await? {
        if let Some(id) = id_of(&row, 0)? {
            chains.add(id, id_of(&row, 1)?.as_ref());
        }
    }
    Ok(chains)
}

fn id_of(row: &Row, column: usize) -> Result<Option<EditId>, Error> {
    Ok(row.try_get::<_, Option<String>>(column)?.as_deref().and_then(EditId::parse))
}

/// Returns the bytes of the root keys that were kept with an edit; empty if there is no such edit.
pub(super) async fn root_keys(client: &Client, id: String) -> Result<Vec<u8>, Error> {
    let statement = "select root_keys from edits where id = $1";
    let found = client.query_typed(statement, &[(&id, Type::TEXT)]).await?;
    found.first().map_or(Ok(Vec::new()), |row| row.try_get(0))
}

/// Returns the secret that all servers with this database share.
pub(super) async fn secret(client: &Client) -> Result<Vec<u8>, Error> {
    let row = client.query_typed_one(&format!("select secret::text from {MARK}"), &[]).await?;
    row.try_get::<_, String>(0).map(String::into_bytes)
}

/// Returns, for each file that this edit left, the file's position and the later edits that created or
/// removed a file at its path.
pub(super) async fn moves_since(client: &Client, id: String) -> Result<Vec<MoveSince>, Error> {
    let [created, removed] = [ChangeKind::Created, ChangeKind::Removed].map(ChangeKind::number);
    let rows = client
        .query_typed(
            "select distinct file.position, edits.number, edits.id, edits.undoes from edit_files file
        join edit_files later on later.root = file.root and later.path = file.path
        and substring(later.path from 1 for 1000) = substring(file.path from 1 for 1000)
        and later.edit > file.edit and later.kind in ($2, $3)
        join edits on edits.number = later.edit
        where file.edit = (select number from edits where id = $1) and file.after is not null
        order by file.position, edits.number",
            &[(&id, Type::TEXT), (&created, Type::INT8), (&removed, Type::INT8)],
        )
        .await?;
    let mut moves = Vec::new();
    for row in rows {
        if let Some(id) = id_of(&row, 2)? {
            moves.push((row.try_get(0)?, id, id_of(&row, 3)?));
        }
    }
    Ok(moves)
}

fn digest(bytes: Option<Vec<u8>>) -> Option<Digest> {
    bytes?.try_into().map(Digest::from_bytes).ok()
}

impl EditRow {
    /// Returns the edit with the paths of this machine. The path of a file that this machine does not reach
    /// is its root's name in brackets, followed by the path in the root.
    pub(super) fn here(self, names: &RootNames) -> Result<(Entry, Vec<Undo>), NotKept> {
        self.told(names).ok_or_else(|| NotKept::Unavailable {
            reason: "the database has an edit that this version cannot read".to_owned(),
            remedy: Remedy::Database,
        })
    }

    fn told(self, names: &RootNames) -> Option<(Entry, Vec<Undo>)> {
        let row = &self.edit;
        let (mut files, mut undos) = (Vec::new(), Vec::new());
        for row in &self.files {
            let (file, undo) = file(row, names)?;
            files.push(file);
            undos.push(undo);
        }
        let id = id_of(row, 1).ok()??;
        let mut entry = Entry {
            chain: id.clone(),
            id,
            time: time_of(row)?,
            tool: row.try_get(3).ok()?,
            client: row.try_get(4).ok()?,
            session: row.try_get(5).ok()?,
            undoes: id_of(row, 6).ok()?,
            is_redo: false,
            undone_by: None,
            files,
        };
        self.chains.resolve(&mut entry);
        Some((entry, undos))
    }
}

/// Returns the time in a row's column `time`.
pub(super) fn time_of(row: &Row) -> Option<SystemTime> {
    let since = Duration::from_millis(u64::try_from(row.try_get::<_, i64>("time").ok()?).ok()?);
    UNIX_EPOCH.checked_add(since)
}

fn file(row: &Row, names: &RootNames) -> Option<(EntryFile, Undo)> {
    let path = |column: usize| os::path_of(row.try_get(column).ok()?);
    let shared = SharedPath { root: RootName::kept(row.try_get(1).ok()?), relative: path(2)? };
    let here = names.local(&shared);
    let (encoding, diff): (String, Vec<u8>) = (row.try_get(4).ok()?, row.try_get(8).ok()?);
    let kind = ChangeKind::of_number(row.try_get(5).ok()?)?;
    let file = EntryFile {
        root: here.is_none().then(|| shared.root.as_str().to_owned()),
        path: here.unwrap_or_else(|| elsewhere(&shared)),
        relative: path(3)?,
        encoding: Label::parse(&encoding)?.encoding,
        kind,
        before: digest(row.try_get(6).ok()?),
        after: digest(row.try_get(7).ok()?),
        diff: String::from_utf8_lossy(&diff).into_owned(),
    };
    let undo = match os::decode(kind, row.try_get(9).ok()?)? {
        Undo::Remove { directories } => {
            // A directory that this machine does not reach is left out, so an undo does not remove it.
            let local = |directory: &PathBuf| names.local(&SharedPath::of_key(os::bytes_of(directory)?)?);
            Undo::Remove { directories: directories.iter().filter_map(local).collect() }
        }
        undo => undo,
    };
    Some((file, undo))
}

/// Reads the names of directories, sorted.
pub(super) async fn roots(client: &Client) -> Result<Vec<Row>, Error> {
    let statement = "select name, floor(extract(epoch from made_at) * 1000)::bigint, made_by from roots order by name collate \"C\"";
    client.query_typed(statement, &[]).await
}

/// Reads a row of [`roots`], and adds the places on this machine.
pub(super) fn known_root(row: &Row, names: &RootNames) -> Option<KnownRoot> {
    let name: String = row.try_get(0).ok()?;
    let since = Duration::from_millis(u64::try_from(row.try_get::<_, i64>(1).ok()?).ok()?);
    let here = names.places(&RootName::kept(name.clone())).into_iter();
    let here = here.map(|(inside, path)| RootPlace { inside, path }).collect();
    Some(KnownRoot { name, since: UNIX_EPOCH.checked_add(since)?, made_by: row.try_get(2).ok()?, here })
}

/// Turns an error of the database into the reason why an edit is not kept, or cannot be read.
pub(super) fn of_database(error: &DatabaseError) -> NotKept {
    NotKept::Unavailable { reason: error.to_string(), remedy: Remedy::Database }
}

/// Returns the path that stands for a file that this machine does not reach. No file on this machine has such
/// a path.
fn elsewhere(shared: &SharedPath) -> PathBuf {
    Path::new(&format!("[{}]", shared.root)).join(&shared.relative)
}

/// Files, or all files below directories, by their shared names. The fields are columns: the values of one
/// entry have the same index in all of them.
#[derive(Clone, Default)]
pub(super) struct KeyRanges {
    pub(super) roots: Vec<String>,
    /// The file's path in the root; `None` for the whole root.
    pub(super) exact: Vec<Option<Vec<u8>>>,
    /// The lower bound of the paths below the directory.
    pub(super) from: Vec<Vec<u8>>,
    /// The exclusive upper bound of these paths.
    pub(super) to: Vec<Vec<u8>>,
}

/// The SQL condition that an edit `e` has a file in [`KeyRanges`]. The arguments are the parameters for its
/// four columns.
macro_rules! in_places {
    ($roots:literal, $exact:literal, $from:literal, $to:literal) => {
        concat!(
            "e.number in (select f.edit from edit_files f, unnest(",
            $roots, "::text[], ", $exact, "::bytea[], ", $from, "::bytea[], ", $to,
            "::bytea[]) as w (root, exact, low, high)
            where f.root = w.root and (w.exact is null or f.path = w.exact or f.path >= w.low and f.path < w.high))"
        )
    };
}

/// Deletes the edits of files in [`KeyRanges`].
pub(super) const FORGET: &str = concat!("delete from edits e where ", in_places!("$1", "$2", "$3", "$4"));

/// Returns the shared names of a file, or of all files below a directory, including those in mounts below it.
pub(super) fn places(names: &RootNames, path: &Path) -> KeyRanges {
    let asks_for_directory = os::bytes_of(path)
        .is_some_and(|bytes| bytes.last().is_some_and(|&last| std::path::is_separator(last.into())));
    let mut places = KeyRanges::default();
    for shared in names.shared_below(path) {
        let Some(relative) = os::bytes_of(&shared.relative).map(<[u8]>::to_vec) else { continue };
        let separator = std::path::MAIN_SEPARATOR as u8;
        let (from, to) = ([&relative[..], &[separator]].concat(), [&relative[..], &[separator + 1]].concat());
        let exact = if asks_for_directory { from.clone() } else { relative.clone() };
        places.roots.push(shared.root.as_str().to_owned());
        places.exact.push((!relative.is_empty()).then_some(exact));
        places.from.push(from);
        places.to.push(to);
    }
    places
}

/// The conditions on edits. A condition that is `None` is bound as null, so that the same statement serves
/// all filters.
#[derive(Clone, Default)]
pub(super) struct Conditions {
    places: Option<KeyRanges>,
    since: Option<i64>,
    until: Option<i64>,
    tool: Option<String>,
    client: Option<String>,
    session: Option<String>,
    text: Option<Vec<u8>>,
    before: Option<String>,
    before_number: Option<i64>,
    id: Option<String>,
}

/// The condition in SQL; [`Conditions::values`] returns its values.
pub(super) const WHERE: &str = concat!(
    "where ($1::text[] is null or ", in_places!("$1", "$2", "$3", "$4"), ")
    and ($5::bigint is null or e.time >= $5) and ($6::bigint is null or e.time < $6)
    and ($7::text is null or e.tool = $7) and ($8::text is null or e.client = $8) and ($9::text is null or e.session = $9)
    and ($10::bytea is null or exists (select from edit_files f where f.edit = e.number and position($10 in f.diff) > 0))
    and ($11::text is null or e.number < (select b.number from edits b where b.id = $11))
    and ($12::bigint is null or e.number < $12)
    and ($13::text is null or e.id = $13)"
);

impl Conditions {
    pub(super) fn of_id(id: &EditId) -> Self {
        Self { id: Some(id.to_string()), ..Self::default() }
    }

    pub(super) fn of(filter: &Filter, names: &RootNames) -> Self {
        let milliseconds = |time: std::time::SystemTime| {
            i64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
        };
        let text_of = |name: &Option<String>| name.as_deref().map(storable);
        Self {
            places: filter.path.as_deref().map(|path| places(names, path)),
            since: filter.since.map(milliseconds),
            until: filter.until.map(milliseconds),
            tool: text_of(&filter.tool),
            client: text_of(&filter.client),
            session: text_of(&filter.session),
            text: filter.text.as_ref().map(|text| text.clone().into_bytes()),
            before: filter.before.as_ref().map(ToString::to_string),
            ..Self::default()
        }
    }

    pub(super) fn before_number(&mut self, number: i64) {
        self.before_number = Some(number);
    }

    /// Returns the values of [`WHERE`], in their order.
    pub(super) fn values(self) -> Vec<Value> {
        let Self { places, since, until, tool, client, session, text, before, before_number, id } = self;
        let [roots, exact, from, to] = KeyRanges::values(places);
        vec![
            roots,
            exact,
            from,
            to,
            (Box::new(since), Type::INT8),
            (Box::new(until), Type::INT8),
            (Box::new(tool), Type::TEXT),
            (Box::new(client), Type::TEXT),
            (Box::new(session), Type::TEXT),
            (Box::new(text), Type::BYTEA),
            (Box::new(before), Type::TEXT),
            (Box::new(before_number), Type::INT8),
            (Box::new(id), Type::TEXT),
        ]
    }
}

impl KeyRanges {
    /// Returns the four values of [`FORGET`], which are also the first four of [`WHERE`].
    pub(super) fn values(ranges: Option<Self>) -> [Value; 4] {
        let (roots, exact, from, to) = match ranges {
            Some(all) => (Some(all.roots), Some(all.exact), Some(all.from), Some(all.to)),
            None => Default::default(),
        };
        [
            (Box::new(roots), Type::TEXT_ARRAY),
            (Box::new(exact), Type::BYTEA_ARRAY),
            (Box::new(from), Type::BYTEA_ARRAY),
            (Box::new(to), Type::BYTEA_ARRAY),
        ]
    }
}

/// Returns a text that the database can store: it rejects NUL characters.
pub(super) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
