//! The data that threads share in the store.

pub(crate) mod closing;
pub(crate) mod found;
pub(crate) mod hashing;
pub(crate) mod scans;

#[path = "../../crates/store/src/lock"]
pub(crate) mod lock {
    pub(crate) mod deferred_close;

    /// A file, whose place on the disk is free once it is closed.
    pub(crate) mod file_lock {
        use std::sync::{Arc, Mutex};

        #[derive(Debug)]
        pub(crate) struct LockedFile(pub(crate) Arc<Mutex<u32>>);

        impl Drop for LockedFile {
            fn drop(&mut self) {
                *self.0.lock().unwrap() += 1;
            }
        }
    }
}

#[path = "../../crates/store/src/read"]
pub(crate) mod read {
    #[expect(dead_code, reason = "a read is all that is asked of it")]
    pub(crate) mod document;
    #[expect(dead_code, reason = "what is read past caches needs a machine of its own")]
    pub(crate) mod hash;
    #[expect(dead_code, reason = "whether a file is remembered is asked elsewhere")]
    pub(crate) mod scan_cache;
}

#[path = "../../crates/store/src/search"]
pub(crate) mod search {
    pub(crate) mod pool;
    #[expect(dead_code, reason = "some of it is another door's")]
    pub(crate) mod request;
    #[expect(dead_code, reason = "some of it is for who is told")]
    pub(crate) mod skipped;

    pub(crate) use super::found::{deliver, file, start, walk, workers};
}
