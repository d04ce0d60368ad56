//! Configured directories that cannot be served. The server starts all the same, and tells the model what its
//! user has to do.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::session::{BINARY, HOME, INITIALIZE, Session};
use crate::world::{World, real};

const GET: &str = "get_text_file_contents";

/// Starts a server in a directory, and returns its session.
fn start_in(directory: &Path, arguments: &[&str]) -> Session {
    let mut command = Command::new(BINARY);
    command.current_dir(directory).env(HOME, directory.parent().unwrap_or(directory));
    Session::start_by(&mut command, arguments)
}

fn instructions(session: &mut Session) -> String {
    session.ask_raw(INITIALIZE)["result"]["instructions"].as_str().unwrap().to_owned()
}

fn read(session: &mut Session, path: &Path) -> String {
    let answer: Value = session.ask("tools/call", &json!({"name": GET, "arguments": {"file_path": path}}));
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_directory_that_is_missing_stops_no_other() {
    let world = World::new();
    world.write("here/file", "text\n");
    let (here, gone) = (world.path("here"), world.path("gone"));
    let mut session = start_in(&here, &[gone.to_str().unwrap(), here.to_str().unwrap()]);
    let told = instructions(&mut session);
    let head: String = told.chars().take(240).collect();
    assert!(
        head.contains(here.to_str().unwrap()) && head.contains(&format!("NOT SERVED: {}", gone.display())),
        "{told}"
    );
    assert!(read(&mut session, &here.join("file")).contains("1\ttext\n"));
    for _ in 0..2 {
        let said = world.unrooted(&read(&mut session, &gone.join("file")));
        insta::allow_duplicates! {
            insta::assert_snapshot!(said, @"
            error: outside_allowed_directories: $ROOT/gone/file is in a directory that is not served: the configured directory $ROOT/gone did not exist when this server was started
            in $ROOT/gone/file
            suggestion: get_text_file_contents
            hint: a person has to name a directory that exists in the client's configuration of this server, or make this one, and restart the server
            ");
        }
        // The allowed directories stay those of the start.
        world.write("gone/file", "text\n");
    }
    let said = read(&mut session, &world.path("else"));
    assert!(
        said.contains(&format!("(not served, since they could not be opened: {})", gone.display())),
        "{said}"
    );
    let mut next = start_in(&here, &[gone.to_str().unwrap()]);
    assert!(read(&mut next, &gone.join("file")).contains("1\ttext\n"));
}

/// The test tries each way in which no named directory can be served.
#[test]
fn with_no_directory_left_every_call_says_what_to_configure() {
    let world = World::new();
    world.write("file", "text\n");
    let here = world.path("");
    let file = world.path("file");
    let check = |arguments: &[&str], said: &str| {
        let mut session = start_in(&here, arguments);
        let told = instructions(&mut session);
        let head: String = told.chars().take(240).collect();
        assert!(head.contains("NO DIRECTORY IS SERVED") && told.contains(said), "{arguments:?}: {told}");
        assert!(told.chars().count() <= 2_048);
        let calls = [
            (GET, json!({"file_path": file})),
            (GET, json!({"no": "such argument"})),
            ("patch_text_file_contents", json!({"files": []})),
            ("create_text_file", json!({"file_path": "relative", "contents": ""})),
            ("list_text_file_edits", json!({})),
        ];
        for (tool, call) in calls {
            let answer = session.ask("tools/call", &json!({"name": tool, "arguments": call}));
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert_eq!(answer["result"]["isError"], true);
            assert!(
                text.starts_with("error: outside_allowed_directories: this server serves no directory: "),
                "{text}"
            );
            assert!(text.contains(said) && text.contains(r#"/ada/project"]"#), "{text}");
        }
    };
    let file = file.to_str().unwrap();
    let below = format!("{file}/x");
    let home = here.parent().unwrap().to_str().unwrap();
    check(
        &["--tools", "all", "/no/such/directory"],
        "the configured directory /no/such/directory did not exist",
    );
    check(&["--tools", "all", "~/app"], "`~` is for a shell to expand");
    check(&["--tools", "all", "${workspaceFolder}"], "a variable that the client did not expand");
    check(&["--tools", "all", "%USERPROFILE%"], "a variable that the client did not expand");
    check(&["--tools", "all", ""], "the name of a configured directory is empty");
    check(&["--tools", "all", "app"], &format!("it is relative, and means {}", here.join("app").display()));
    check(&["--tools", "all", "/path/to/project"], "it is the example's");
    check(&["--tools", "all", "file:///etc"], "it is a URL");
    check(
        &["--tools", "all", &format!("\"{home}\"")],
        &format!("quotes or blanks around it, and {home} is meant"),
    );
    check(&["--tools", "all", file], "is a file, not a directory; the one that holds it is ");
    // Windows says the same of a missing directory.
    let through_a_file = if cfg!(windows) { "did not exist" } else { "leads through a file" };
    check(&["--tools", "all", &below], through_a_file);
    // Several directories; Landlock with no directory at all; no history.
    check(&["--tools", "all", "/no/such", "~/app"], "`~` is for a shell to expand");
    check(&["--tools", "all", "--landlock", "auto", "/no/such"], "/no/such did not exist");
    check(&["--tools", "all", "--no-history", "/no/such"], "/no/such did not exist");
}

#[test]
fn without_a_name_neither_all_files_nor_those_of_a_person_are_served() {
    let directory = tempfile::tempdir().unwrap();
    let home = real(directory.path());
    let top = home.ancestors().last().unwrap();
    let whole = format!("the whole file system ({})", top.display());
    for (current, whose) in [(top, whole.as_str()), (&home, "the home directory (")] {
        let mut command = Command::new(BINARY);
        let mut session = Session::start_by(command.current_dir(current).env(HOME, &home), &[]);
        let told = instructions(&mut session);
        assert!(told.contains("NO DIRECTORY IS SERVED") && told.contains(whose), "{told}");
        let said = read(&mut session, &home.join("file"));
        assert!(
            said.contains("no directory was named, and the current one is") && said.contains(whose),
            "{said}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_kernels_wall_stands_without_a_directory() {
    if !crate::attacks::has_landlock() {
        return eprintln!("skipped: this kernel has no Landlock");
    }
    let world = World::new();
    let mut session = start_in(&world.path(""), &["--landlock", "require", "/no/such"]);
    assert!(read(&mut session, Path::new("/etc/passwd")).starts_with("error: outside_allowed_directories: "));
}
