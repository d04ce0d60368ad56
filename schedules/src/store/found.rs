//! A search on threads: what is found comes in the order of the walk, however far the threads are ahead, and
//! where it is broken off, what was counted does not depend on them.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use mcp_text_editor_core::line::LineNumber;
use shuttle::rand::Rng as _;

use crate::search::pool::search;
use crate::search::request::{FileMatches, Match, Search, TextLine};

/// The question that is put to every file.
pub(crate) mod deliver {
    use super::AtomicBool;

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct SearchSettings<'a> {
        pub(crate) stop: &'a AtomicBool,
    }
}

/// Threads, as many as are enough to overtake one another.
pub(crate) mod workers {
    pub(crate) const WORKERS: Workers = Workers;

    pub(crate) struct Workers;

    impl Workers {
        pub(crate) fn take(&self) -> Self {
            Self
        }

        pub(crate) fn count(&self) -> usize {
            3
        }
    }
}

/// Files that are numbers, and say what is found in them.
pub(crate) mod file {
    use std::io;
    use std::marker::PhantomData;
    use std::ops::ControlFlow;
    use std::path::Path;

    use super::deliver::SearchSettings;
    use super::{Match, hit, hits};
    use crate::search::skipped::Cause;

    #[derive(PartialEq, Eq)]
    pub(crate) enum Searched {
        Whole,
        #[expect(dead_code, reason = "there are no other readings here")]
        Otherwise(Cause),
        Skipped(Cause),
        Not,
    }

    pub(crate) struct FileSearcher<'a>(PhantomData<SearchSettings<'a>>);

    impl<'a> FileSearcher<'a> {
        pub(crate) fn new(_: SearchSettings<'a>, _: [u64; 2], _: u64) -> Self {
            Self(PhantomData)
        }

        pub(crate) fn search(
            &mut self,
            open: impl Fn() -> io::Result<usize>,
            emit: &mut dyn FnMut(Vec<Match>) -> ControlFlow<()>,
        ) -> Searched {
            let Ok(number) = open() else { return Searched::Skipped(Cause::Unreadable) };
            for bytes in hits(number) {
                if emit(vec![hit(*bytes)]).is_break() {
                    return Searched::Not;
                }
            }
            Searched::Whole
        }

        pub(crate) fn look(&mut self, _: impl Fn() -> io::Result<usize>) -> Searched {
            Searched::Not
        }
    }

    pub(crate) fn open(_: &(), name: &Path) -> io::Result<usize> {
        name.to_str().and_then(|name| name.parse().ok()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A directory of so many files.
pub(crate) mod start {
    pub(crate) struct WalkStart(pub(crate) usize);
}

/// Each file in a directory of its own, so that batches are small.
pub(crate) mod walk {
    use std::ffi::OsStr;
    use std::marker::PhantomData;
    use std::ops::ControlFlow;
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::start::WalkStart;
    use crate::search::skipped::Cause;

    pub(crate) struct Rules<'a>(pub(crate) PhantomData<&'a ()>);

    #[derive(Debug)]
    pub(crate) struct Node {
        pub(crate) directory: (),
    }

    #[derive(Clone, Copy)]
    pub(crate) struct DirectoryName<'a> {
        pub(crate) directory: &'a Arc<Node>,
        pub(crate) name: &'a OsStr,
        pub(crate) shown_path: Option<&'a str>,
    }

    impl DirectoryName<'_> {
        pub(crate) fn path(self) -> String {
            self.name.to_string_lossy().into_owned()
        }

        pub(crate) fn real_path(self) -> PathBuf {
            self.name.into()
        }
    }

    #[expect(dead_code, reason = "this walk meets files alone")]
    pub(crate) trait Visitor {
        fn file(&mut self, file: DirectoryName<'_>) -> ControlFlow<()>;
        fn elsewhere(&mut self, file: DirectoryName<'_>) -> ControlFlow<()>;
        fn directory(&mut self, directory: DirectoryName<'_>) -> ControlFlow<()>;
        fn link(&mut self, link: DirectoryName<'_>) -> ControlFlow<()>;
        fn skipped(&mut self, cause: Cause, path: String);
        #[expect(dead_code, reason = "there are no globs here")]
        fn unfit(&mut self);
        fn is_over(&mut self) -> bool;
    }

    pub(crate) fn walk(start: &WalkStart, _: &Rules<'_>, visitor: &mut impl Visitor) -> ControlFlow<()> {
        for number in 0..start.0 {
            if visitor.is_over() {
                return ControlFlow::Break(());
            }
            let directory = Arc::new(Node { directory: () });
            visitor.file(DirectoryName {
                directory: &directory,
                name: number.to_string().as_ref(),
                shown_path: None,
            })?;
        }
        ControlFlow::Continue(())
    }
}

/// Returns the lengths of the lines that are found in a file. Some lines are longer than what may wait for
/// its turn.
fn hits(number: usize) -> &'static [usize] {
    match number % 24 {
        2 => &[5 << 20, 3],
        4 | 10 => &[1, 2],
        5 | 17 => &[4],
        _ => &[],
    }
}

fn hit(bytes: usize) -> Match {
    Match {
        line: TextLine { number: LineNumber::FIRST, text: " ".repeat(bytes), cut: None },
        end: LineNumber::FIRST,
        rest: Vec::new(),
        range_hash: None,
        before: Vec::new(),
        after: Vec::new(),
    }
}

pub(crate) fn law() {
    let mut rng = shuttle::rand::thread_rng();
    // Now and then more files than are under way at once.
    let files = if rng.gen_range(0..50) == 0 { 500 } else { rng.gen_range(0..60) };
    let expected: Vec<(String, usize)> = (0..files)
        .flat_map(|number| hits(number).iter().map(move |bytes| (number.to_string(), *bytes)))
        .collect();
    let enough = rng.gen_range(0..=2 * expected.len());
    let asks = if rng.gen_range(0..4) == 0 { rng.gen_range(0..6) } else { usize::MAX };
    let stop = AtomicBool::new(false);
    let (mut found, mut asked) = (Vec::new(), 0);
    let mut sink = |matches: FileMatches| {
        found.extend(matches.matches.iter().map(|hit| (matches.file_path.clone(), hit.line.text.len())));
        if found.len() == enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut ask = || {
        asked += 1;
        if asked > asks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let done = search(
        &[start::WalkStart(files)],
        &walk::Rules(std::marker::PhantomData),
        deliver::SearchSettings { stop: &stop },
        &Search::new(""),
        &mut sink,
        &mut ask,
    );
    let done = done.expect("threads").files;
    assert!(expected.starts_with(&found), "another order");
    let last = found.last().map(|(name, _)| name.parse::<u64>().unwrap());
    if found.len() == enough && enough > 0 {
        assert_eq!(
            Some(done),
            last.map(|last| last + 1),
            "the files up to the one in which it was broken off"
        );
    } else if asked > asks {
        assert!(done as usize <= files && last.is_none_or(|last| last <= done));
    } else {
        assert_eq!((found.len(), done as usize), (expected.len(), files), "not all of it");
    }
}
