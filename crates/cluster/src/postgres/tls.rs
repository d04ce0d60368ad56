//! TLS for the client of the database: [`Connector`].

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

/// Begins TLS with a server. The server's certificate must be from a known authority, and for the server's
/// name.
#[derive(Clone)]
pub(super) struct Connector(Arc<ClientConfig>);

impl Connector {
    /// Returns a connector that trusts the certificates of a file or, without a file, those that the system
    /// trusts. The certificates are read at once.
    pub(super) fn trusting(file: Option<&Path>) -> Result<Self, String> {
        let roots = match file {
            Some(file) => of_file(file),
            None => of_system(rustls_native_certs::load_native_certs().certs),
        }?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

/// Returns the certificates of a file.
fn of_file(file: &Path) -> Result<RootCertStore, String> {
    let shown = file.display();
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let read = read.map_err(|error| format!("sslrootcert={shown} cannot be read: {error}"))?;
    let mut roots = RootCertStore::empty();
    for certificate in read {
        roots.add(certificate).map_err(|error| format!("sslrootcert={shown}: {error}"))?;
    }
    if roots.is_empty() { Err(format!("sslrootcert={shown} has no certificate")) } else { Ok(roots) }
}

/// Returns the certificates of the system that can be parsed.
fn of_system(certificates: Vec<CertificateDer<'static>>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    if roots.is_empty() {
        return Err("the system trusts no certificate that could be read; sslrootcert= names a file of them"
            .to_owned());
    }
    Ok(roots)
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = TlsSocket;
    type TlsConnect = NamedTls;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<NamedTls, InvalidDnsNameError> {
        Ok(NamedTls { connector: self.0.clone().into(), name: ServerName::try_from(domain)?.to_owned() })
    }
}

/// Begins TLS with a server of this name.
pub(super) struct NamedTls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl TlsConnect<Socket> for NamedTls {
    type Stream = TlsSocket;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TlsSocket>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move { Ok(TlsSocket(Box::new(self.connector.connect(self.name, stream).await?))) })
    }
}

/// A connection with TLS.
pub(super) struct TlsSocket(Box<tokio_rustls::client::TlsStream<Socket>>);

impl TlsStream for TlsSocket {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for TlsSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for TlsSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_that_trusts_nothing_that_can_be_read_is_told() {
        for certificates in [Vec::new(), vec![CertificateDer::from(b"no certificate".to_vec())]] {
            let told = of_system(certificates).unwrap_err();
            assert!(told.contains("sslrootcert= names a file"), "{told}");
        }
    }
}
