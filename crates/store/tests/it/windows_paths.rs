//! Names and paths of Windows on real files: how they may be spelled, and which are refused. What they mean
//! by their text alone is tested on every system, in `access/windows_paths.rs`.

use std::path::{Path, PathBuf};

use mcp_text_editor_store::core::resolve::Patch;
use mcp_text_editor_store::core::show::Budget;
use mcp_text_editor_store::{
    Change, Control, EditError, FileEdit, PathError, Patterns, Protection, ReadError, ReadFile, Reason,
    Unusable, Workspace, WorkspaceBuilder,
};
use tempfile::TempDir;

/// A temporary directory with `root`, and with `outside` beside it.
struct World {
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["root", "outside"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    /// Returns a path below the temporary directory, without links and the short names that a variable can
    /// have.
    fn path(&self, name: &str) -> String {
        let real = self.directory.path().canonicalize().unwrap();
        let real = real.to_str().unwrap().trim_start_matches(r"\\?\").to_owned();
        if name.is_empty() { real } else { format!("{real}\\{}", name.replace('/', "\\")) }
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn builder(&self) -> WorkspaceBuilder {
        Workspace::builder().root(self.path("root"))
    }

    fn workspace(&self) -> Workspace {
        self.builder().build().unwrap()
    }

    /// Returns the names in a directory, as they are listed.
    fn names(&self, name: &str) -> Vec<String> {
        let listed = std::fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<String> =
            listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Returns the text of a file, or why it is not read.
fn read(workspace: &Workspace, path: &str) -> Result<String, String> {
    let read = workspace.read(ReadFile::new(path), None, Budget::bytes(10_000), Control::default());
    match read {
        Ok(view) => Ok(view.shown.content),
        Err(ReadError { problems, .. }) => Err(problems.iter().map(why).collect::<Vec<_>>().join(", ")),
    }
}

/// Tells why a file is not edited, or made where `is_new`; nothing if it is.
fn change(workspace: &Workspace, path: &str, is_new: bool) -> String {
    let patches = [Patch::text("one", "two")];
    let change = if is_new { Change::Create("one\n") } else { Change::Patch(&patches) };
    match workspace.apply(&[FileEdit::new(path, change)], Control::of("test")) {
        Ok(_) => String::new(),
        Err(EditError { problems, .. }) => {
            problems.iter().map(|problem| why(&problem.reason)).collect::<Vec<_>>().join(", ")
        }
    }
}

fn why(reason: &Reason) -> String {
    match reason {
        Reason::Path(problem) => told(problem),
        other => format!("{other:?}"),
    }
}

fn told(problem: &PathError) -> String {
    match problem {
        PathError::Unusable(unusable) => format!("{:?}", unusable.why),
        PathError::Protected(Protection::Pattern(_)) => "pattern".to_owned(),
        PathError::Protected(protection) => format!("{protection:?}"),
        PathError::NotAbsolute { .. } => "NotAbsolute".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Returns the same path in other notations and letter cases.
fn spellings(path: &str) -> Vec<String> {
    let (upper, lower) = (path.to_uppercase(), path.to_lowercase());
    let slashes = path.replace('\\', "/");
    vec![
        path.to_owned(),
        format!(r"\\?\{path}"),
        format!(r"\\.\{path}"),
        format!("//?/{slashes}"),
        slashes.replace('/', "//"),
        slashes,
        path.replace('\\', r"\.\"),
        format!(r"\\?\{lower}"),
        lower.replace('\\', "/"),
        upper,
        lower,
    ]
}

#[test]
fn a_path_may_be_spelled_in_any_letter_case_and_notation() {
    let world = World::new();
    world.write("root/Sub/a.txt", "one\n");
    for root in spellings(&world.path("root")) {
        let workspace = Workspace::builder().root(&root).build().unwrap();
        for path in spellings(&world.path("root/Sub/a.txt")) {
            assert_eq!(read(&workspace, &path).as_deref(), Ok("one\n"), "{path} in {root}");
        }
        for path in spellings(&world.path("outside/a.txt")) {
            assert_eq!(
                read(&workspace, &path),
                Err("Outside { suggested: None }".to_owned()),
                "{path} in {root}"
            );
        }
    }
}

#[test]
fn a_file_is_edited_and_told_by_its_name_on_disk() {
    let world = World::new();
    let path = world.write("root/Sub/a.txt", "one\n");
    let workspace = world.workspace();
    let other = world.path("root/SUB/A.TXT");
    assert_eq!(workspace.resolve_for_writing(&other).unwrap(), PathBuf::from(&path));
    assert_eq!(change(&workspace, &other, false), "");
    assert_eq!(
        (world.names("root"), world.names("root/Sub")),
        (vec!["Sub".to_owned()], vec!["a.txt".to_owned()])
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
    // A new file has the name that it was given, in a directory that has its own.
    assert_eq!(change(&workspace, &world.path("root/sub/New.txt"), true), "");
    assert_eq!(world.names("root/Sub"), ["New.txt", "a.txt"]);
    assert!(change(&workspace, &world.path("root/sub/NEW.TXT"), true).starts_with("Exists"));
}

#[test]
fn names_that_no_file_has_are_refused_and_nothing_is_made() {
    let world = World::new();
    world.write("root/secret", "one\n");
    world.write("root/.env", "one\n");
    let workspace = world.builder().protect(Patterns::new(&["secret".to_owned()]).unwrap()).build().unwrap();
    for (name, why) in [
        ("secret.", Unusable::End),
        ("secret ", Unusable::End),
        ("sub. /a", Unusable::End),
        (".env::$DATA", Unusable::Stream),
        (".env:more", Unusable::Stream),
        ("NUL", Unusable::Device),
        ("con.txt", Unusable::Device),
        ("COM1", Unusable::Device),
        ("a?b", Unusable::Character('?')),
        ("a*", Unusable::Character('*')),
        ("a\u{1}b", Unusable::Character('\u{1}')),
    ] {
        for path in
            [world.path(&format!("root/{name}")), format!(r"\\?\{}", world.path(&format!("root/{name}")))]
        {
            let why = format!("{why:?}");
            assert_eq!(read(&workspace, &path), Err(why.clone()), "{path}");
            for is_new in [false, true] {
                assert_eq!(change(&workspace, &path, is_new), why, "{path}");
            }
        }
    }
    assert_eq!(world.names("root"), [".env", "secret"]);
    assert_eq!(std::fs::read_to_string(world.path("root/secret")).unwrap(), "one\n");
}

#[test]
fn paths_from_somewhere_on_are_refused() {
    let world = World::new();
    let path = world.write("root/a.txt", "one\n");
    let workspace = world.workspace();
    let (drive, rest) = path.split_at(2);
    let half =
        [rest.to_owned(), rest.replace('\\', "/"), format!("{drive}{}", &rest[1..]), format!(r"\\.\{drive}")];
    for path in half {
        assert_eq!(read(&workspace, &path), Err("NotAbsolute".to_owned()), "{path}");
    }
}

#[test]
fn git_is_protected_in_every_spelling() {
    let world = World::new();
    let path = world.write("root/.git/config", "one\n");
    let workspace = world.workspace();
    for spelling in spellings(&path) {
        assert_eq!(change(&workspace, &spelling, false), "Git", "{spelling}");
        assert_eq!(read(&workspace, &spelling).as_deref(), Ok("one\n"), "{spelling}");
    }
    for (name, expected) in [
        (".git./config", "End"),
        (".git /config", "End"),
        (".git::$INDEX_ALLOCATION/config", "Stream"),
        ("GIT~1/config", "Git"),
        ("GIT~1/hooks/new", "Git"),
        (".Git/new", "Git"),
    ] {
        for is_new in [false, true] {
            assert_eq!(change(&workspace, &world.path(&format!("root/{name}")), is_new), expected, "{name}");
        }
    }
    assert_eq!(world.names("root/.git"), ["config"]);
}

#[test]
fn patterns_may_have_the_separators_of_windows() {
    let world = World::new();
    let path = world.write("root/Sub/deep/a.txt", "one\n");
    let other = world.write("root/other.txt", "one\n");
    let absolute = world.path("root/Sub");
    let patterns = [
        r"Sub\".to_owned(),
        r"Sub\**".to_owned(),
        r"sub\deep".to_owned(),
        r".\Sub\deep\*.txt".to_owned(),
        r"**\deep".to_owned(),
        "Sub/".to_owned(),
        absolute.to_lowercase(),
        absolute.replace('\\', "/"),
        format!(r"{absolute}\**\*.TXT"),
    ];
    for pattern in patterns {
        let protected = Patterns::new(std::slice::from_ref(&pattern)).unwrap();
        let workspace = world.builder().protect(protected).build().unwrap();
        assert_eq!(change(&workspace, &path, false), "pattern", "{pattern}");
        let outcome = workspace.resolve_for_writing(&other);
        assert!(outcome.is_ok(), "{pattern}: {outcome:?}");
    }
}

#[test]
fn a_path_of_more_than_260_units_works() {
    let world = World::new();
    let workspace = world.workspace();
    let long = ["a-directory-of-some-forty-letters-or-more"; 10].join("\\");
    let path = format!("{}\\{long}\\a.txt", world.path("root"));
    assert!(path.len() > 400);
    let known = world.path("outside") + "\\" + &long;
    std::fs::create_dir_all(&known).unwrap();
    // Wine does not.
    if let Err(error) = Path::new(&known).canonicalize() {
        return eprintln!("skipped: this system tells no long path of what is open: {error}");
    }
    assert_eq!(change(&workspace, &path, true), "");
    assert_eq!(change(&workspace, &path, false), "");
    assert_eq!(read(&workspace, &path).as_deref(), Ok("two\n"));
    assert_eq!(read(&workspace, &format!(r"\\?\{path}")).as_deref(), Ok("two\n"));
}

/// To look at one would tell another machine who asks.
#[test]
fn a_share_that_holds_no_root_is_not_looked_at() {
    let world = World::new();
    let workspace = world.workspace();
    for path in [
        r"\\no.such.server.invalid\share\a",
        "//no.such.server.invalid/share/a",
        r"\\?\UNC\no.such.server.invalid\s\a",
    ] {
        assert_eq!(read(&workspace, path), Err("Outside { suggested: None }".to_owned()), "{path}");
    }
}

#[test]
fn a_share_can_be_a_root() {
    let world = World::new();
    world.write("root/sub/a.txt", "one\n");
    let local = world.path("root");
    let share = format!(r"\\localhost\{}$\{}", &local[..1], &local[3..]);
    if !Path::new(&share).is_dir() {
        return eprintln!("skipped: this system does not share its drives with itself: {share}");
    }
    for root in [share.clone(), share.replace('\\', "/"), format!(r"\\?\UNC\{}", &share[2..])] {
        std::fs::write(world.path("root/sub/a.txt"), "one\n").unwrap();
        let workspace = Workspace::builder().root(&root).build().unwrap();
        let path = format!(r"{share}\sub\a.txt");
        assert_eq!(read(&workspace, &path).as_deref(), Ok("one\n"), "{root}");
        assert_eq!(change(&workspace, &path, false), "", "{root}");
        assert_eq!(std::fs::read_to_string(world.path("root/sub/a.txt")).unwrap(), "two\n");
        let new = format!(r"{share}\new\b.txt");
        assert_eq!(change(&workspace, &new, true), "", "{root}");
        assert_eq!(world.names("root"), ["new", "sub"]);
        std::fs::remove_dir_all(world.path("root/new")).unwrap();
    }
}

#[test]
fn a_junction_leads_where_it_leads() {
    let world = World::new();
    world.write("root/real/a.txt", "one\n");
    world.write("outside/a.txt", "one\n");
    for (name, target) in [("in", "root\\real"), ("out", "outside")] {
        let made = std::process::Command::new("cmd")
            .args(["/c", "mklink", "/J", &world.path(&format!("root/{name}")), &world.path(target)])
            .output();
        let link = world.path(&format!("root/{name}"));
        if !Path::new(&link).symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            return eprintln!("skipped: no junction can be made: {made:?}");
        }
    }
    let workspace = world.workspace();
    assert_eq!(read(&workspace, &world.path("root/in/a.txt")).as_deref(), Ok("one\n"));
    assert_eq!(
        read(&workspace, &world.path("root/out/a.txt")),
        Err("Outside { suggested: None }".to_owned())
    );
    assert_eq!(change(&workspace, &world.path("root/out/new"), true), "Outside { suggested: None }");
}
