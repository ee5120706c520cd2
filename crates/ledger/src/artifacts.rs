//! Content by its digest, on the local disk through `object_store`: `artifacts/sha256/ab/cdef…`.
//!
//! Content is written aside, made durable, and then renamed to its address, so that what stands at an address
//! is always whole. Memory does not grow with the content.

use std::future::Future;
use std::io;
use std::path::Path as FilePath;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use engine::ports::{ArtifactWriter, Artifacts};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt as _, PutPayload};
use sha2::{Digest as _, Sha256};
use wire::Digest;
use wire::receipt::Artifact;

use crate::Ledger;
use crate::runtimes::Runtime;

/// So many bytes are held in memory before they are written.
const PART_BYTES: usize = 1 << 20;

/// The artifacts of one state directory.
#[derive(Debug)]
pub(crate) struct Store {
    files: Arc<LocalFileSystem>,
    runtime: Arc<Runtime>,
    next: AtomicU64,
}

impl Store {
    pub(crate) fn open(root: &FilePath, runtime: Arc<Runtime>) -> io::Result<Store> {
        let files = LocalFileSystem::new_with_prefix(root).map_err(io_error)?.with_fsync(true);
        Ok(Store { files: Arc::new(files), runtime, next: AtomicU64::new(0) })
    }
}

impl Artifacts for Ledger {
    fn create(&self) -> io::Result<Box<dyn ArtifactWriter>> {
        let store = &self.artifacts;
        let number = store.next.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Writing {
            files: Arc::clone(&store.files),
            staged: Path::from_iter(["staging", &store.runtime.id, &number.to_string()]),
            _runtime: Arc::clone(&store.runtime),
            upload: None,
            held: Vec::new(),
            hash: Sha256::new(),
            size_bytes: 0,
            is_broken: false,
        }))
    }

    fn read(
        &self,
        digest: &Digest,
        start_byte: u64,
        max_bytes: u64,
    ) -> io::Result<Option<Vec<u8>>> {
        let files = &self.artifacts.files;
        let address = address(digest);
        let size_bytes = match wait(files.head(&address)) {
            Ok(found) => found.size,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(io_error(error)),
        };
        let end = start_byte.saturating_add(max_bytes).min(size_bytes);
        let content = if start_byte < end {
            wait(files.get_range(&address, start_byte..end)).map_err(io_error)?.into()
        } else {
            Vec::new()
        };
        if start_byte == 0 && end == size_bytes && Digest::of_bytes(&content) != *digest {
            let message = format!("the content at `{digest}` is damaged: it has another digest");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Some(content))
    }
}

/// Content on its way to its address.
#[derive(Debug)]
struct Writing {
    files: Arc<LocalFileSystem>,
    staged: Path,
    /// Keeps the folder of unfinished content while this writes, even past the ledger.
    _runtime: Arc<Runtime>,
    /// Begun with the first part that is full.
    upload: Option<Box<dyn MultipartUpload>>,
    held: Vec<u8>,
    hash: Sha256,
    size_bytes: u64,
    is_broken: bool,
}

impl Writing {
    fn flush(&mut self) -> io::Result<()> {
        let part = PutPayload::from(std::mem::take(&mut self.held));
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => none.insert(wait(self.files.put_multipart(&self.staged)).map_err(io_error)?),
        };
        wait(upload.put_part(part)).map_err(io_error)
    }

    /// Makes the whole content durable under its staging name.
    fn settle(&mut self) -> io::Result<()> {
        if self.upload.is_none() {
            let whole = PutPayload::from(std::mem::take(&mut self.held));
            wait(self.files.put(&self.staged, whole)).map_err(io_error)?;
            return Ok(());
        }
        if !self.held.is_empty() {
            self.flush()?;
        }
        if let Some(upload) = &mut self.upload {
            wait(upload.complete()).map_err(io_error)?;
        }
        self.upload = None;
        Ok(())
    }

    fn unbroken(&self) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier part of the artifact could not be written"));
        }
        Ok(())
    }
}

impl ArtifactWriter for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.unbroken()?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = PART_BYTES - self.held.len();
            let (now, later) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            self.held.extend_from_slice(now);
            rest = later;
            if self.held.len() == PART_BYTES {
                // Set first: a part that failed may have been written in part.
                self.is_broken = true;
                self.flush()?;
                self.is_broken = false;
            }
        }
        self.hash.update(bytes);
        self.size_bytes = self.size_bytes.saturating_add(bytes.len() as u64);
        Ok(())
    }

    fn finish(mut self: Box<Self>, name: &str, media_type: &str) -> io::Result<Artifact> {
        self.unbroken()?;
        self.settle()?;
        let digest = Digest::from_hash(&std::mem::take(&mut self.hash).finalize());
        if let Err(error) = wait(self.files.rename(&self.staged, &address(&digest))) {
            drop(wait(self.files.delete(&self.staged)));
            return Err(io_error(error));
        }
        let (name, media_type) = (name.to_owned(), media_type.to_owned());
        Ok(Artifact { name, digest, size_bytes: self.size_bytes, media_type })
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let Some(upload) = &mut self.upload {
            // What stays behind is removed once this runtime has ended.
            drop(wait(upload.abort()));
        }
    }
}

fn address(digest: &Digest) -> Path {
    let (folder, name) = digest.hex().split_at_checked(2).unwrap_or((digest.hex(), ""));
    Path::from_iter(["sha256", folder, name])
}

/// The error with the kind that the system gave it.
fn io_error(error: object_store::Error) -> io::Error {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    let mut kind = io::ErrorKind::Other;
    while let Some(error) = source {
        if let Some(system) = error.downcast_ref::<io::Error>() {
            kind = system.kind();
        }
        source = error.source();
    }
    io::Error::new(kind, error)
}

/// Runs a future to its end on this thread. Works inside an async runtime and outside, and may nest.
fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
