//! The standard library, in which whatever waits for another thread is shuttle's.

pub use std::*;

/// Locks, atomics and channels.
pub mod sync {
    pub use shuttle::sync::{Condvar, Mutex, MutexGuard, atomic, mpsc};
    pub use std::sync::*;
}

/// Threads.
pub mod thread {
    use std::io;

    pub use shuttle::thread::{JoinHandle, Scope, ScopedJoinHandle, scope, spawn, yield_now};
    pub use std::thread::{available_parallelism, panicking};

    /// As std's, whose scoped threads shuttle has without names.
    #[derive(Debug, Default)]
    pub struct Builder;

    impl Builder {
        /// A thread as any other.
        pub fn new() -> Self {
            Self
        }

        /// The name is not kept.
        pub fn name(self, _: String) -> Self {
            self
        }

        /// Starts a thread.
        pub fn spawn<F, T>(self, work: F) -> io::Result<JoinHandle<T>>
        where
            F: FnOnce() -> T + Send + 'static,
            T: Send + 'static,
        {
            Ok(spawn(work))
        }

        /// Starts a thread of a scope.
        pub fn spawn_scoped<'scope, 'env, F, T>(
            self,
            scope: &'scope Scope<'scope, 'env>,
            work: F,
        ) -> io::Result<ScopedJoinHandle<'scope, T>>
        where
            F: FnOnce() -> T + Send + 'scope,
            T: Send + 'scope,
        {
            Ok(scope.spawn(work))
        }
    }
}
