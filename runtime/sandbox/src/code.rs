//! Machine code on its way into an engine. Whoever makes a [`Code`] vouches for it: it is executed.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use wasmtime::component::Component;
use wasmtime::{Engine, Module, Precompiled};

/// Machine code that our compiler made, and that nobody has changed since.
#[derive(Debug)]
pub enum Code {
    /// In a file that is not changed any more.
    File {
        file: File,
        /// Its size.
        bytes: usize,
    },
    Memory(Vec<u8>),
}

impl Code {
    /// Its size.
    pub fn bytes(&self) -> usize {
        match self {
            Code::File { bytes, .. } => *bytes,
            Code::Memory(code) => code.len(),
        }
    }

    /// Puts machine code into a file in memory that nobody can change, whoever has it.
    pub fn sealed(code: &[u8]) -> io::Result<Self> {
        let mut file = SealedFile::new()?;
        file.write(code)?;
        file.seal()
    }

    /// Its file, to be given to another process.
    pub fn into_descriptor(self) -> io::Result<OwnedFd> {
        match self {
            Code::File { file, .. } => Ok(file.into()),
            Code::Memory(_) => Err(io::Error::other("this system does not support sealed files")),
        }
    }

    /// Whether it is a module that this engine can load.
    pub fn check_module(&self, engine: &Engine) -> wasmtime::Result<()> {
        let same = match self {
            Code::File { file, bytes } => Code::File {
                file: file.try_clone()?,
                bytes: *bytes,
            },
            Code::Memory(code) => Code::Memory(code.clone()),
        };
        same.module(engine).map(drop)
    }

    /// Loads a module.
    pub(crate) fn module(self, engine: &Engine) -> wasmtime::Result<Module> {
        match self {
            Code::File { file, .. } => {
                #[expect(unsafe_code, reason = "loading machine code that was made by this program")]
                // SAFETY: whoever made this `Code` vouches for it: it comes from wasmtime's compiler in this process or in a
                // confined worker, from a file whose MAC only this program can make, or from one that only those can write who can
                // replace the program (see ARCHITECTURE.md). The file is sealed, or belongs to this user or one of those, and so
                // is not changed while it is mapped.
                unsafe {
                    Module::deserialize_open_file(engine, file)
                }
            }
            Code::Memory(code) => {
                check(&code, Precompiled::Module)?;
                #[expect(unsafe_code, reason = "loading machine code that was made by this program")]
                // SAFETY: as above.
                unsafe {
                    Module::deserialize(engine, code)
                }
            }
        }
    }

    /// Loads a component.
    pub(crate) fn component(&self, engine: &Engine) -> wasmtime::Result<Component> {
        let read;
        let code = match self {
            Code::File { file, bytes } => {
                let mut code = vec![0; *bytes];
                file.read_exact_at(&mut code, 0)?;
                read = code;
                &read
            }
            Code::Memory(code) => code,
        };
        check(code, Precompiled::Component)?;
        #[expect(unsafe_code, reason = "loading machine code that was made by this program")]
        // SAFETY: as in `module`.
        unsafe {
            Component::deserialize(engine, code)
        }
    }
}

/// Refuses anything that is not machine code of this kind.
fn check(code: &[u8], kind: Precompiled) -> wasmtime::Result<()> {
    if Engine::detect_precompiled(code) == Some(kind) {
        return Ok(());
    }
    Err(wasmtime::Error::msg("its machine code can't be used"))
}

/// A file in memory that is being written.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct SealedFile {
    file: File,
    bytes: usize,
}

#[cfg(target_os = "linux")]
impl SealedFile {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        use rustix::fs::{MemfdFlags, memfd_create};
        let fd = memfd_create("heddle-code", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        Ok(SealedFile {
            file: fd.into(),
            bytes: 0,
        })
    }

    /// Appends a piece.
    pub fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)?;
        self.bytes += piece.len();
        Ok(())
    }

    /// Ends the writing for everybody and for good.
    pub fn seal(self) -> io::Result<Code> {
        use rustix::fs::{SealFlags, fcntl_add_seals};
        fcntl_add_seals(
            &self.file,
            SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
        )?;
        Ok(Code::File {
            file: self.file,
            bytes: self.bytes,
        })
    }
}

/// Where there are no such files, the code stays in memory.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Default)]
pub struct SealedFile(Vec<u8>);

#[cfg(not(target_os = "linux"))]
impl SealedFile {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        Ok(SealedFile::default())
    }

    /// Appends a piece.
    pub fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.0.write_all(piece)
    }

    /// Ends the writing.
    pub fn seal(self) -> io::Result<Code> {
        Ok(Code::Memory(self.0))
    }
}
