//! Examines a database: [`examine`]. All statements only read: nothing is created, migrated or locked.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use mcp_text_editor_store::backend::now;
use rustls::CertificateError;
use tokio::runtime::Builder;
use tokio::time::timeout;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, Error};

use crate::postgres::error::{
    ClockOffset, DatabaseFacts, DatabaseReport, HostReport, Kept, NoSession, SchemaLack, SchemaState, Writes,
    told,
};
use crate::postgres::migrations::{self, MARK, MIGRATIONS, TABLES};
use crate::postgres::session::{self, HostLogin, Running, SessionSettings, is_free, is_pooled, open};

/// The timeout of the examination of one host.
const BOUND: Duration = Duration::from_secs(8);

/// The oldest server version that this program can use, in the server's numbering: the first with
/// `idle_session_timeout`.
const OLDEST: i32 = 140_000;

/// Examines each host of a database: whether it can be reached and used, and how much data is kept there.
/// Takes at most some seconds for each host.
pub(super) fn examine(settings: &SessionSettings) -> DatabaseReport {
    let runtime = Builder::new_current_thread().enable_all().build();
    let hosts = settings.hosts.iter().map(|login| {
        let look = || async { timeout(BOUND, host(settings, login)).await.unwrap_or(Err(NoSession::Silent)) };
        let found = match &runtime {
            Ok(runtime) => runtime.block_on(look()),
            Err(error) => Err(NoSession::Other(error.to_string())),
        };
        HostReport { address: login.to_string(), found }
    });
    DatabaseReport {
        url: settings.url.to_string(),
        schema: settings.url.schema.clone(),
        schema_version: latest(),
        database: settings.url.database.clone(),
        role: settings.url.user.clone(),
        hosts: hosts.collect(),
    }
}

fn latest() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

/// Examines one host, at the first of its addresses that admits this role.
async fn host(settings: &SessionSettings, login: &HostLogin) -> Result<DatabaseFacts, NoSession> {
    let is_tcp = login.is_tcp();
    let mut why = NoSession::UnknownName;
    for mut config in settings.configs(login) {
        // A connection to a standby must succeed, too, so that the report can say that it is a standby.
        config.target_session_attrs(TargetSessionAttrs::Any);
        match connected(settings, config.clone(), is_tcp).await {
            Ok((client, _running)) => {
                let has_tls = is_tcp && settings.url.has_tls;
                let facts = facts(settings, &client, &config, is_tcp, has_tls).await;
                return facts.map_err(|error| no_session(&error));
            }
            Err(Some(error)) => why = no_session(&error),
            Err(None) => why = NoSession::Silent,
        }
    }
    Err(why)
}

/// Connects, with a timeout; the error is `None` if there was no answer.
async fn connected(
    settings: &SessionSettings,
    config: Config,
    is_tcp: bool,
) -> Result<(Client, Running), Option<Error>> {
    let opened = timeout(session::BOUND, open(settings, config, is_tcp)).await;
    opened.map_or(Err(None), |opened| opened.map_err(Some))
}

/// Returns the reason why a connection failed, from the error.
fn no_session(error: &Error) -> NoSession {
    if let Some(answer) = error.as_db_error() {
        let message = answer.message().to_owned();
        return match answer.code().code() {
            "28P01" => NoSession::WrongPassword,
            "28000" | "42501" => NoSession::NotAdmitted(message),
            "3D000" => NoSession::NoDatabase,
            "53300" => NoSession::Full(message),
            "57P01" | "57P02" | "57P03" => NoSession::NotReady(message),
            _ => NoSession::Other(message),
        };
    }
    let Some(cause) = error.source() else { return NoSession::Other(told(error)) };
    if let Some(failed) = cause.downcast_ref::<io::Error>() {
        return match failed.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(fault) => of_tls(fault),
            None => NoSession::Unreachable(failed.to_string()),
        };
    }
    match cause.to_string().as_str() {
        "server does not support TLS" => NoSession::NoTls,
        "password missing" => NoSession::NoPassword,
        _ => NoSession::Other(told(error)),
    }
}

fn of_tls(fault: &rustls::Error) -> NoSession {
    match fault {
        // If a trusted authority has the name of the real issuer, but another key, rustls reports a bad
        // signature.
        rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => NoSession::UnknownAuthority,
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => NoSession::OtherName,
        fault => NoSession::Tls(fault.to_string()),
    }
}

/// Queries a server for the facts of the report.
async fn facts(
    settings: &SessionSettings,
    client: &Client,
    config: &Config,
    is_tcp: bool,
    has_tls: bool,
) -> Result<DatabaseFacts, Error> {
    let asked = now();
    let statement = "select current_setting('server_version'), current_setting('server_version_num')::integer,
        pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
        current_setting('fsync') = 'off', current_setting('full_page_writes') = 'off', current_setting('synchronous_commit') = 'off',
        floor(extract(epoch from clock_timestamp()) * 1000)::bigint";
    let row = client.query_typed_one(statement, &[]).await?;
    let answered = now();
    let is_pooled = match connected(settings, config.clone(), is_tcp).await {
        Ok((second, _running)) => is_pooled(client, &second).await?,
        // Without a second connection, a pooler is not noticed. A server that is full has room for no other
        // client either, and tells the next one so.
        Err(_) => false,
    };
    let (is_standby, is_read_only) = (row.try_get(2)?, row.try_get(3)?);
    let settings_off = [("fsync", 4), ("full_page_writes", 5), ("synchronous_commit", 6)];
    let mut forgetful = Vec::new();
    for (name, column) in settings_off {
        if row.try_get(column)? {
            forgetful.push(name);
        }
    }
    Ok(DatabaseFacts {
        version: row.try_get(0)?,
        is_too_old: is_too_old(row.try_get(1)?),
        has_tls,
        writes: match (is_standby, is_read_only) {
            (true, _) => Writes::Standby,
            (false, true) => Writes::ReadOnly,
            (false, false) => Writes::Taken,
        },
        is_pooled,
        forgetful,
        clock: offset(milliseconds(asked), row.try_get(7)?, milliseconds(answered)),
        schema: schema(client, &settings.url.schema).await?,
    })
}

/// Tells whether a version, in the server's numbering, lacks what this program needs.
fn is_too_old(version: i32) -> bool {
    version < OLDEST
}

fn milliseconds(time: std::time::SystemTime) -> i64 {
    let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Measures how far the server's time is outside the span between the query and the answer.
fn offset(asked: i64, theirs: i64, answered: i64) -> ClockOffset {
    let (behind, ahead) = (asked.saturating_sub(theirs), theirs.saturating_sub(answered));
    let by = Duration::from_millis(u64::try_from(behind.max(ahead)).unwrap_or_default());
    ClockOffset { by, is_ahead: ahead > 0 }
}

/// Returns the state of the schema, and the amounts of data in it.
async fn schema(client: &Client, schema: &str) -> Result<SchemaState, Error> {
    let statement = "select n.oid is not null, has_database_privilege(current_database(), 'CREATE'),
            coalesce(has_schema_privilege(n.oid, 'USAGE'), false), coalesce(has_schema_privilege(n.oid, 'CREATE'), false),
            exists (select from pg_catalog.pg_class c where c.relnamespace = n.oid),
            exists (select from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relname = $2),
            coalesce((select bool_or(has_table_privilege(c.oid, 'SELECT')) from pg_catalog.pg_class c
                where c.relnamespace = n.oid and c.relname = $2), false),
            (select min(pg_catalog.pg_get_userbyid(c.relowner)) from pg_catalog.pg_class c
                where c.relnamespace = n.oid and c.relkind = 'r' and not pg_has_role(c.relowner, 'USAGE'))
        from (select) here left join pg_catalog.pg_namespace n on n.nspname = $1";
    let row = client.query_typed_one(statement, &[(&schema, Type::TEXT), (&MARK, Type::TEXT)]).await?;
    let is = |column: usize| row.try_get::<_, bool>(column);
    let (may_make, may_use, may_add) = (is(1)?, is(2)?, is(3)?);
    if !is(0)? {
        return Ok(if may_make { SchemaState::ToBeMade } else { SchemaState::NotToBeMade });
    }
    if !may_use {
        return Ok(SchemaState::Closed);
    }
    if !is(5)? {
        return Ok(match (is(4)?, may_add) {
            (true, _) => SchemaState::Foreign,
            (false, true) => SchemaState::ToBeMade,
            (false, false) => SchemaState::Closed,
        });
    }
    if !is(6)? {
        let lack = SchemaLack::Right { right: "SELECT".to_owned(), table: MARK.to_owned() };
        return Ok(SchemaState::Current(Err(vec![lack])));
    }
    let of = migrations::quoted(schema);
    let version = client.query_typed_one(&format!("select version from {of}.{MARK}"), &[]).await?;
    let version: i32 = version.try_get(0)?;
    let owner: Option<String> = row.try_get(7)?;
    Ok(match (version.cmp(&latest()), owner) {
        (std::cmp::Ordering::Greater, _) => SchemaState::Later(version),
        (std::cmp::Ordering::Less, Some(owner)) => SchemaState::NotToBeMigrated(version, owner),
        (std::cmp::Ordering::Less, None) if may_add => SchemaState::Earlier(version),
        (std::cmp::Ordering::Less, None) => SchemaState::Closed,
        (std::cmp::Ordering::Equal, _) => {
            let lacks = lacks(client, schema).await?;
            SchemaState::Current(if lacks.is_empty() { Ok(kept(client, &of).await?) } else { Err(lacks) })
        }
    })
}

/// Lists the tables and the rights that a schema lacks. The schema must have the newest version.
async fn lacks(client: &Client, schema: &str) -> Result<Vec<SchemaLack>, Error> {
    let statement = "select t.name, p.name, c.oid is null
        from unnest($2::text[]) with ordinality as t (name, number)
        cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) with ordinality as p (name, number)
        left join (pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname = $1)
            on c.relname = t.name
        where c.oid is null and p.number = 1 or c.oid is not null and not has_table_privilege(c.oid, p.name)
        order by t.number, p.number";
    let tables = TABLES.map(str::to_owned).to_vec();
    let rows = client.query_typed(statement, &[(&schema, Type::TEXT), (&tables, Type::TEXT_ARRAY)]).await?;
    let lack = |row: &tokio_postgres::Row| {
        let table = row.try_get(0)?;
        Ok(if row.try_get(2)? {
            SchemaLack::Table(table)
        } else {
            SchemaLack::Right { right: row.try_get(1)?, table }
        })
    };
    rows.iter().map(lack).collect()
}

/// Counts the data in the schema. The schema's name must be in quotes already.
async fn kept(client: &Client, schema: &str) -> Result<Kept, Error> {
    let statement = format!(
        "select count(*) filter (where not {free}), count(*) filter (where {free}),
            floor(extract(epoch from clock_timestamp() - min(r.made_at)))::bigint,
            (select count(*) from {schema}.edits), (select coalesce(sum(bytes), 0)::bigint from {schema}.edits),
            (select count(*) from {schema}.roots)
        from {schema}.records r",
        free = is_free!()
    );
    let row = client.query_typed_one(&statement, &[]).await?;
    let count =
        |column: usize| row.try_get(column).map(|count: i64| u64::try_from(count).unwrap_or_default());
    let oldest: Option<i64> = row.try_get(2)?;
    Ok(Kept {
        in_work: count(0)?,
        abandoned: count(1)?,
        oldest: oldest.map(|age| Duration::from_secs(u64::try_from(age).unwrap_or_default())),
        edits: count(3)?,
        bytes: count(4)?,
        roots: count(5)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_from_version_14_on_are_new_enough() {
        for (version, is_old) in
            [(90_624, true), (130_022, true), (140_000, false), (140_013, false), (180_000, false)]
        {
            assert_eq!(is_too_old(version), is_old, "{version}");
        }
    }

    #[test]
    fn the_time_of_the_answer_counts_for_the_smaller_difference() {
        let of = |asked, theirs, answered| {
            let ClockOffset { by, is_ahead } = offset(asked, theirs, answered);
            (by.as_millis(), is_ahead)
        };
        assert_eq!(of(1000, 1500, 2000), (0, false));
        assert_eq!(of(1000, 400, 2000), (600, false));
        assert_eq!(of(1000, 2000, 2000), (0, false));
        assert_eq!(of(1000, 2001, 2000), (1, true));
        assert_eq!(of(i64::MAX, i64::MIN, 0), (u128::from(i64::MAX as u64), false));
    }
}
