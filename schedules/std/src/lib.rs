//! The standard library, in which whatever waits for another thread is shuttle's.

pub use std::*;

/// Locks, atomics and channels.
pub mod sync {
    use std::time::Duration;

    use shuttle::sync as other;
    use shuttle::thread::yield_now;

    pub use shuttle::sync::{Mutex, MutexGuard, WaitTimeoutResult, atomic, mpsc};
    pub use std::sync::*;

    /// A condition variable like shuttle's. Other threads can also run between the last look at the condition
    /// and the wait.
    #[derive(Debug, Default)]
    pub struct Condvar(other::Condvar);

    impl Condvar {
        /// Returns one on which nobody waits.
        pub fn new() -> Self {
            Self::default()
        }

        /// Waits for a notification.
        pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
            yield_now();
            self.0.wait(guard)
        }

        /// Waits for a notification, however long that takes.
        pub fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            time: Duration,
        ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
            yield_now();
            self.0.wait_timeout(guard, time)
        }

        /// Wakes one thread that waits.
        pub fn notify_one(&self) {
            self.0.notify_one();
        }

        /// Wakes all threads that wait.
        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

/// Threads.
pub mod thread {
    use std::io;

    pub use shuttle::thread::{JoinHandle, Scope, ScopedJoinHandle, scope, spawn, yield_now};
    pub use std::thread::{available_parallelism, panicking};

    /// A builder like std's, for scoped threads: shuttle has these without names.
    #[derive(Debug, Default)]
    pub struct Builder;

    impl Builder {
        /// Makes a thread as any other.
        pub fn new() -> Self {
            Self
        }

        /// Takes a name, and does not keep it.
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
