//! Examines the database that several machines share, and their common names for directories, and says what
//! is wrong.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_text_editor_cluster::{
    Caches, Cluster, DatabaseFacts, DatabaseReport, FileLocks, HostReport, Kept, NoSession, RootNames,
    SchemaLack, SchemaState, Writes,
};
use mcp_text_editor_store::real_path;

use super::report::{Fault, Report, fault, shown, tell_report};

/// The maximum difference between two clocks that is not reported as a fault.
const APART: Duration = Duration::from_secs(10);

/// Examines the database that several machines share, and directories that they share. Changes nothing.
/// Returns true if nothing is wrong.
pub(crate) fn database(cluster: &Cluster, roots: &[PathBuf], out: &mut impl Write) -> io::Result<bool> {
    let found = cluster.examine();
    writeln!(out, "{}", shown(&found.url))?;
    let mut report = judge(&found);
    for directory in roots {
        report.add(shared(cluster.roots(), directory));
    }
    tell_report(&report, out)?;
    Ok(report.faults.is_empty())
}

/// Judges the findings about all hosts.
fn judge(found: &DatabaseReport) -> Report {
    let mut report = Report::default();
    let reached = |host: &HostReport| host.found.clone().ok();
    let leading = found.hosts.iter().filter_map(reached).find(|facts| facts.writes == Writes::Taken);
    for host in &found.hosts {
        match &host.found {
            Ok(facts) => add_host(&mut report, found, host, facts, leading.is_some()),
            Err(why) => report.faults.push(no_session(found, host, why)),
        }
    }
    // A standby server has the schema of its primary server.
    if let Some(facts) = leading.or_else(|| found.hosts.iter().find_map(reached)) {
        add_schema(&mut report, found, &facts.schema);
    }
    report
}

/// Says why there is no session with a host.
fn no_session(found: &DatabaseReport, host: &HostReport, why: &NoSession) -> Fault {
    let DatabaseReport { role, database, .. } = found;
    let address = &host.address;
    let password = format!(
        "set PGPASSWORD, or write {address}:{database}:{role}:PASSWORD in ~/.pgpass or in the file of PGPASSFILE, which nobody else may read (chmod 600)"
    );
    let mut found = match why {
        NoSession::UnknownName => fault(
            "the name leads to no address",
            "spell the host in the URL right, or make its name known (DNS, /etc/hosts)",
        ),
        NoSession::Unreachable(error) => fault(
            format!("there is no connection: {error}"),
            "start it, let it listen there (listen_addresses and port of postgresql.conf), and let what is between pass it",
        ),
        NoSession::Silent => fault(
            "it does not answer",
            "look whether a firewall drops what is sent to it, whether it is overloaded, and whether it is PostgreSQL that listens there",
        ),
        NoSession::NoTls => fault(
            "it has no TLS",
            "switch it on (ssl = on, with a certificate of its name), or write sslmode=disable in the URL where nobody else is on the way",
        ),
        NoSession::UnknownAuthority => fault(
            "its certificate is of an authority that is not known here",
            "name a file with that authority's certificate: sslrootcert=FILE in the URL",
        ),
        NoSession::OtherName => fault(
            "its certificate is of another name",
            "name the host in the URL as its certificate does, or give it one of this name (subjectAltName)",
        ),
        NoSession::Tls(error) => fault(
            format!("TLS fails: {error}"),
            "give it a certificate that is valid, of its name and of an authority that is known here",
        ),
        NoSession::NoPassword => {
            fault(format!("it wants a password of the role {role}, and none is known"), password)
        }
        NoSession::WrongPassword => fault(
            format!("it takes another password of the role {role}, or does not know that role"),
            format!("{password}; in the database `create role` or `alter role` sets it"),
        ),
        NoSession::NotAdmitted(message) => fault(
            format!("it does not let the role {role} in: {message}"),
            format!(
                "in the database: create role {role} login; grant connect on database {database} to {role}; and a line of pg_hba.conf for this machine"
            ),
        ),
        NoSession::NoDatabase => fault(
            format!("it has no database {database}"),
            format!(
                "in the database: create database {database} owner {role}; or name another one in the URL"
            ),
        ),
        NoSession::Full(message) => fault(
            format!("it has no place: {message}"),
            "raise max_connections: each process of this server takes two",
        ),
        NoSession::NotReady(message) => fault(format!("it is not ready: {message}"), "ask again in a moment"),
        NoSession::Other(message) => fault(
            format!("there is no session: {message}"),
            "look into its log, and whether it is PostgreSQL that listens there",
        ),
    };
    found.problem.insert_str(0, &format!("{address}: "));
    found
}

/// Adds the findings about a host that accepts the role's login.
fn add_host(
    report: &mut Report,
    found: &DatabaseReport,
    host: &HostReport,
    facts: &DatabaseFacts,
    is_led: bool,
) {
    let (address, role) = (&host.address, &found.role);
    let tls = if facts.has_tls { "with TLS" } else { "without TLS" };
    let writes = match facts.writes {
        Writes::Taken => "",
        Writes::Standby => ", a standby",
        Writes::ReadOnly => ", read-only",
    };
    report.notes.push(format!("{address}: PostgreSQL {}, {tls}{writes}", facts.version));
    let mut wrong = |problem: &str, fix: &str| report.wrong(format!("{address}: {problem}"), fix);
    if facts.is_too_old {
        wrong(
            &format!("PostgreSQL {} lacks what ends the session of a stopped process", facts.version),
            "use PostgreSQL 14 or later",
        );
    }
    match facts.writes {
        Writes::Standby if !is_led => wrong(
            "it is a standby, which takes no writes, and no other host of the URL takes them",
            "name the server that leads it in the URL, or both with a comma between",
        ),
        Writes::ReadOnly if !is_led => wrong(
            "its transactions are read-only",
            &format!(
                "in the database: alter role {role} reset default_transaction_read_only; else look who made it so, and why"
            ),
        ),
        _ => {}
    }
    if facts.is_pooled {
        wrong(
            "a pool hands its sessions on after each transaction, so that nobody's lock is known by them",
            "name the database itself in the URL, or a pool in session mode (PgBouncer: pool_mode = session)",
        );
    }
    for setting in &facts.forgetful {
        wrong(
            &format!("{setting} is off: after a loss of power it can have forgotten what it acknowledged"),
            &match *setting {
                "synchronous_commit" => format!("in the database: alter role {role} set {setting} = on"),
                _ => format!("write {setting} = on in its postgresql.conf, and restart it"),
            },
        );
    }
    if facts.clock.by > APART {
        let side = if facts.clock.is_ahead { "ahead of" } else { "behind" };
        wrong(
            &format!(
                "its clock is {} {side} this machine's: edits have its time, so --since and --until miss by as much",
                span(facts.clock.by)
            ),
            "set both by NTP",
        );
    }
}

/// Adds the findings about the schema and its content.
fn add_schema(report: &mut Report, found: &DatabaseReport, state: &SchemaState) {
    let DatabaseReport { schema, schema_version, role, database, .. } = found;
    let found = match state {
        SchemaState::ToBeMade => {
            report.notes.push(format!("the schema {schema} is made with the first use"));
            return;
        }
        SchemaState::Earlier(version) => {
            report.notes.push(format!(
                "the schema {schema} is of version {version}, and becomes {schema_version} with the first use; earlier programs cannot use it then"
            ));
            return;
        }
        SchemaState::Current(Ok(kept)) => {
            report.notes.extend(contents(found, kept));
            return;
        }
        SchemaState::NotToBeMade => fault(
            format!("there is no schema {schema}, and the role {role} may not make it"),
            format!(
                "in the database: create schema {schema} authorization {role}; or grant create on database {database} to {role}"
            ),
        ),
        SchemaState::Closed => fault(
            format!("the role {role} may not use the schema {schema}, or make tables in it"),
            format!("in the database: grant usage, create on schema {schema} to {role}"),
        ),
        SchemaState::Foreign => fault(
            format!(
                "the schema {schema} is somebody else's: it has tables that mcp-text-editor did not make"
            ),
            "name another one in the URL: schema=NAME",
        ),
        SchemaState::Later(version) => fault(
            format!("the schema {schema} is of version {version}, and this program knows {schema_version}"),
            "use the version of mcp-text-editor that the other machines have, or another schema",
        ),
        SchemaState::NotToBeMigrated(version, owner) => fault(
            format!(
                "the schema {schema} is of version {version}, this program's is {schema_version}, and the tables are the role {owner}'s"
            ),
            format!("use it once as {owner}, or in the database: grant {owner} to {role}"),
        ),
        SchemaState::Current(Err(lacks)) => {
            report.faults.extend(lacks.iter().map(|lack| lacking(found, lack)));
            return;
        }
    };
    report.faults.push(found);
}

fn lacking(found: &DatabaseReport, lack: &SchemaLack) -> Fault {
    let DatabaseReport { schema, role, .. } = found;
    match lack {
        SchemaLack::Table(table) => fault(
            format!("the table {table} of the schema {schema} is missing"),
            format!("restore it from a backup; or, with all that is kept: drop schema {schema} cascade"),
        ),
        SchemaLack::Right { right, table } => fault(
            format!("the role {role} has no right to {right} in the table {table} of the schema {schema}"),
            format!(
                "in the database: grant select, insert, update, delete on all tables in schema {schema} to {role}"
            ),
        ),
    }
}

/// Describes the contents of the database, one line for each kind.
fn contents(found: &DatabaseReport, kept: &Kept) -> Vec<String> {
    let DatabaseReport { schema, schema_version, .. } = found;
    let age = kept.oldest.map_or_else(String::new, |age| format!(", the oldest begun {} ago", span(age)));
    let mut lines = vec![format!(
        "the schema {schema}, of version {schema_version}, keeps {} in {} bytes, and {} (mcp-text-editor history roots)",
        counted(kept.edits, "past edit"),
        kept.bytes,
        counted(kept.roots, "directory name")
    )];
    lines.push(match (kept.in_work, kept.abandoned) {
        (0, 0) => "no edit is under way".to_owned(),
        (in_work, 0) => format!("{} under way{age}", counted(in_work, "edit")),
        (in_work, abandoned) => format!(
            "{} under way, and {} left by processes that are gone{age}: a server that reaches their files ends them",
            counted(in_work, "edit"),
            counted(abandoned, "edit")
        ),
    });
    lines
}

/// Judges the sharing of a directory: its name on all machines, and the locks and caches of its file system.
fn shared(names: &RootNames, directory: &Path) -> Report {
    let mut report = Report::default();
    let shown = directory.display();
    if !directory.is_dir() {
        report.wrong(format!("{shown} is no directory"), "mount it, or name another one by --root");
        return report;
    }
    let real = real_path(directory);
    let name = names.shared(&real).filter(|shared| shared.root.is_shared());
    if name.is_none() {
        report.wrong(
            format!(
                "other machines do not know {shown} by any name, so they neither end nor undo what is edited there"
            ),
            format!(
                "--root-name NAME={shown}, with the same name on each machine (or MCP_TEXT_EDITOR_ROOT_NAME)"
            ),
        );
    }
    let locks = match names.locks(&real) {
        FileLocks::AmongMachines => "; its locks hold among machines, by its mount",
        FileLocks::Unknown => "; whether its locks hold among machines, its mount does not tell",
        FileLocks::Here { kind, option } => {
            let said = option.as_ref().map_or_else(String::new, |option| format!(" ({option})"));
            let share = "share it by a file system whose locks hold among machines: docs/scaling.md has some";
            report.wrong(
                format!(
                    "locks on files in {shown} are this machine's alone, as {kind} is mounted{said}: two machines can edit one file at once"
                ),
                option.map_or_else(|| share.to_owned(), |option| format!("mount it without {option}")),
            );
            ""
        }
    };
    if let Some((problem, fix)) = late(directory, &names.caches(&real)) {
        report.wrong(problem, fix);
    }
    report.notes.extend(name.map(|name| format!("all machines call {shown} {name}{locks}")));
    report
}

/// Says that a directory shows changes of other machines too late for this machine to end their interrupted
/// edits, and how to mount it instead; `None` if it shows them in time.
pub(crate) fn late(directory: &Path, caches: &Caches) -> Option<(String, String)> {
    if caches.bearable().is_some() {
        return None;
    }
    let how_late = caches.lifetime.map_or_else(
        || "late, and nothing says how late".to_owned(),
        |lifetime| format!("up to {} s late", lifetime.as_secs()),
    );
    let problem = format!(
        "{} shows what other machines change {how_late} ({}): edits that they leave unfinished are not ended here",
        directory.display(),
        caches.kind
    );
    let fix = match caches.kind.as_str() {
        "nfs" | "nfs4" => "mount it with lookupcache=none, or with actimeo=1",
        "cifs" | "smb3" => "mount it with cache=strict,actimeo=1,serverino",
        "glusterfs" | "fuse.glusterfs" => {
            "mount it with entry-timeout=0,attribute-timeout=0, and set the volume's performance.stat-prefetch and \
             performance.nl-cache to off"
        }
        _ => "use a file system that says it: docs/scaling.md has some",
    };
    Some((problem, fix.to_owned()))
}

/// Returns a count of things, in words.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Returns a span of time in words.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7_199 => format!("{} min", seconds / 60),
        seconds @ 7_200..=172_799 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}
