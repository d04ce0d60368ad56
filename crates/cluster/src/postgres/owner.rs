//! The SQL condition that the process that owns a record is gone: [`is_free`].

/// The condition that no session has the lock of the owner of record `r`. The view `pg_locks` has the number
/// of a bigint lock in two halves.
macro_rules! is_free {
    () => {
        "not exists (select from pg_catalog.pg_locks l
            where l.locktype = 'advisory' and l.granted and l.objsubid = 1
                and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
                and l.classid = (r.owner >> 32)::oid and l.objid = (r.owner & 4294967295)::oid)"
    };
}
pub(crate) use is_free;
