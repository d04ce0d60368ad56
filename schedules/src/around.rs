//! Small replacements of the parts of the store that the modules use: a file without a file system, and as
//! much of its errors as they name.

#[path = "../../crates/store/src/attempts.rs"]
pub(crate) mod attempts;

pub(crate) mod error {
    use std::io;
    use std::path::Path;

    pub use crate::os::seen::SpecialFile;

    #[derive(Debug)]
    pub struct StoreError {
        pub(crate) kind: StoreErrorKind,
        pub(crate) source: Option<io::Error>,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum StoreErrorKind {
        Cancelled,
        Changed,
        NoSpace,
        NotARegularFile { what: SpecialFile },
        Other,
    }

    #[derive(Clone, Copy)]
    pub enum Operation {
        Read,
    }

    #[derive(Debug)]
    pub enum ReadFault {
        Io(io::Error),
        Cancelled,
    }

    impl StoreError {
        pub(crate) fn new(_: Operation, _: &Path, kind: StoreErrorKind) -> Self {
            Self { kind, source: None }
        }

        pub(crate) fn is_leased(&self) -> bool {
            self.source.as_ref().is_some_and(|source| source.kind() == io::ErrorKind::WouldBlock)
        }

        pub(crate) fn from_fault(_: Operation, _: &Path, fault: ReadFault) -> Self {
            let kind = fault.kind();
            let source = match fault {
                ReadFault::Io(error) => Some(error),
                ReadFault::Cancelled => None,
            };
            Self { kind, source }
        }
    }

    impl ReadFault {
        pub(crate) fn kind(&self) -> StoreErrorKind {
            match self {
                Self::Io(_) => StoreErrorKind::Other,
                Self::Cancelled => StoreErrorKind::Cancelled,
            }
        }
    }

    impl From<io::Error> for ReadFault {
        fn from(error: io::Error) -> Self {
            Self::Io(error)
        }
    }

    pub(crate) trait ErrorContext<T> {
        fn context(self, operation: Operation, path: &Path) -> Result<T, StoreError>;
    }

    impl<T, E: Into<ReadFault>> ErrorContext<T> for Result<T, E> {
        fn context(self, operation: Operation, path: &Path) -> Result<T, StoreError> {
            self.map_err(|error| StoreError::from_fault(operation, path, error.into()))
        }
    }
}

#[path = "../../crates/store/src/os"]
pub(crate) mod os {
    use std::fs::File;
    use std::io;

    #[expect(dead_code, reason = "locks are not taken")]
    pub(crate) mod identity;

    pub(crate) mod clock {
        use std::time::{Duration, SystemTime, UNIX_EPOCH};

        /// Returns a time long after each change, so that a file's times are taken to show all later changes.
        pub(crate) fn now() -> SystemTime {
            UNIX_EPOCH + Duration::from_secs(1 << 30)
        }
    }

    pub(crate) mod seen {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum SpecialFile {
            Other,
        }
    }

    pub(crate) mod patience {
        #[derive(Debug, Default)]
        pub(crate) struct Patience;

        impl Patience {
            pub(crate) fn wait(&mut self) -> bool {
                false
            }
        }
    }

    pub(crate) fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    pub(crate) fn is_open_for_writing(_: &File) -> Option<bool> {
        None
    }
}

pub(crate) mod access {
    pub(crate) mod place {
        use std::fs::File;
        use std::io;
        use std::path::Path;
        use std::sync::{Arc, Mutex, OnceLock};

        use mcp_text_editor_core::source::Source;

        use crate::error::StoreError;
        use crate::os::identity::Identity;

        /// A name, and the file that has it.
        #[derive(Clone, Default, Debug)]
        pub(crate) struct Place(pub(crate) Arc<Mutex<Arc<Inode>>>);

        #[derive(Default, Debug)]
        pub(crate) struct Inode {
            pub(crate) number: u64,
            pub(crate) state: Mutex<State>,
        }

        /// The content of a file, and how often it has changed.
        #[derive(Clone, Default, Debug)]
        pub(crate) struct State {
            pub(crate) bytes: Vec<u8>,
            pub(crate) changes: i128,
        }

        #[derive(Debug)]
        pub(crate) struct OpenFile {
            inode: Arc<Inode>,
            identity: Identity,
        }

        pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

        impl Place {
            pub(crate) fn open_file(&self, _: bool) -> Result<OpenFile, StoreError> {
                let inode = Arc::clone(&*self.0.lock().unwrap());
                let identity = inode.identity();
                Ok(OpenFile { inode, identity })
            }

            pub(crate) fn path(&self) -> &Path {
                Path::new("file")
            }
        }

        impl Inode {
            fn identity(&self) -> Identity {
                let state = self.state.lock().unwrap();
                // In large steps, so that each change has a time of its own.
                let time = state.changes * 1_000_000_007;
                Identity {
                    device: 1,
                    inode: self.number,
                    size: state.bytes.len() as u64,
                    mtime: time,
                    ctime: time,
                    born: None,
                }
            }
        }

        impl OpenFile {
            pub(crate) fn identity(&self) -> &Identity {
                &self.identity
            }

            pub(crate) fn is_unchanged(&self) -> io::Result<bool> {
                Ok(self.inode.identity() == self.identity)
            }

            pub(crate) fn path(&self) -> &Path {
                Path::new("file")
            }

            /// Returns a file from which nothing is read.
            pub(crate) fn file(&self) -> &File {
                static FILE: OnceLock<File> = OnceLock::new();
                FILE.get_or_init(|| File::open("/dev/null").expect("a file of every system"))
            }

            pub(crate) fn bytes(&self) -> Bytes<'_> {
                unreachable!("comparing contents is not tried")
            }
        }

        impl Source for OpenFile {
            type Error = io::Error;

            fn size(&self) -> u64 {
                self.identity.size
            }

            /// Returns a few bytes at a time, so that others can write in between.
            fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
                let mut got = 0;
                for piece in buffer.chunks_mut(4) {
                    let state = self.inode.state.lock().unwrap();
                    let Ok(more) = state.bytes.as_slice().read_at(offset + got as u64, piece);
                    got += more;
                    if more < piece.len() {
                        break;
                    }
                }
                Ok(got)
            }
        }

        impl Source for Bytes<'_> {
            type Error = io::Error;

            fn size(&self) -> u64 {
                self.0.len() as u64
            }

            fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
                let Ok(got) = self.0.read_at(offset, buffer);
                Ok(got)
            }
        }
    }
}
