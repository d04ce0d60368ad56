//! Tests how refusals by a server are interpreted. The server is a stand-in that refuses every client.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use tokio::runtime::Builder;

use super::examine::refused;
use crate::postgres::error::{DatabaseError, NoSession};
use crate::postgres::session::{SessionSettings, open};

/// Starts a stand-in for a server that refuses clients with this SQLSTATE, and returns its URL.
fn refusing(code: &str) -> String {
    answering(b'E', format!("SFATAL\0VFATAL\0C{code}\0Mthe reason\0\0").as_bytes())
}

/// Starts a stand-in for a server that sends this message to the first client, and returns its URL.
fn answering(kind: u8, fields: &[u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let length = u32::try_from(fields.len() + 4).unwrap();
    let answer = [&[kind], &length.to_be_bytes()[..], fields].concat();
    std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.read_exact(&mut [0; 8]).unwrap();
        stream.write_all(&answer).unwrap();
        stream.read_to_end(&mut Vec::new()).ok();
    });
    format!("postgres://me@127.0.0.1:{port}/d?sslmode=disable")
}

/// Returns the client's error for a refusal with this SQLSTATE.
fn error(code: &str) -> tokio_postgres::Error {
    let settings = SessionSettings::new(refusing(code).parse().unwrap()).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(open(&settings, settings.configs(&settings.hosts[0]).remove(0), true)).err().unwrap()
}

#[test]
fn each_refusal_of_a_connection_is_told_apart() {
    let why = || "the reason".to_owned();
    for (code, wanted) in [
        ("28P01", NoSession::WrongPassword),
        ("28000", NoSession::NotAdmitted(why())),
        ("42501", NoSession::NotAdmitted(why())),
        ("3D000", NoSession::NoDatabase),
        ("53300", NoSession::Full(why())),
        ("57P01", NoSession::NotReady(why())),
        ("57P02", NoSession::NotReady(why())),
        ("57P03", NoSession::NotReady(why())),
        ("XX000", NoSession::Other(why())),
    ] {
        assert_eq!(refused(&refusing(code)), wanted, "{code}");
    }
    // The message requests Kerberos, which this program does not support.
    let NoSession::Other(told) = refused(&answering(b'R', &2_u32.to_be_bytes())) else { panic!() };
    assert!(told.contains("unsupported authentication method"), "{told}");
    // The server says that it is ready before the client is authenticated.
    let told = refused(&answering(b'Z', b"I"));
    assert_eq!(told, NoSession::Other("unexpected message from server".to_owned()));
    let told = DatabaseError::of_connecting("here", &error("53300"));
    assert_eq!(told, DatabaseError::Unreachable("here: the reason".to_owned()));
}

#[test]
fn the_end_of_a_session_is_no_refusal_of_a_statement() {
    // An administrator ends the session, the statement times out, or the server accepts no writes now.
    for code in ["57P01", "57014", "25006"] {
        let told = DatabaseError::of_statement(&error(code));
        assert_eq!(told, DatabaseError::Ended("the reason".to_owned()), "{code}");
        assert!(told.is_lost() && !told.is_taken(), "{code}");
    }
    for (code, is_taken) in [("23505", true), ("23503", false), ("42501", false), ("53100", false)] {
        let told = DatabaseError::of_statement(&error(code));
        let wanted = DatabaseError::Refused { code: code.to_owned(), message: "the reason".to_owned() };
        assert_eq!(told, wanted);
        assert!(!told.is_lost() && told.is_taken() == is_taken, "{code}");
    }
}
