//! Estimates the work of compiling an untrusted module or component, to reject excessive ones cheaply, naming the
//! exceeded limit. Accepted ones are still compiled within limits of time and memory.

use wasmparser::{BinaryReaderError, FunctionBody, Operator, Parser, Payload};

/// Compilers take more than linear time for a function's body.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 20;
/// Functions of a module or component, in all.
const FUNCTIONS_MAX: usize = 100_000;
/// Core modules and components within a component.
const PARTS_MAX: usize = 100;
/// Components within components.
const NESTING_MAX: usize = 8;
/// Entries of the other sections (types, imports, instances, aliases, elements, …), in all.
const ITEMS_MAX: usize = 200_000;
/// Blocks within blocks of a function. Large `switch`es nest one for each case; engines of JavaScript have 650.
const DEPTH_MAX: usize = 10_000;
/// Of one function: loops times the variables that it uses, for so many values may the compiler have to carry through
/// them. The worst function of an engine of 10 MB has 46,000.
const CARRIED_MAX: usize = 500_000;
/// Loops times variables of all functions together; of that engine they are 267,000.
const CARRIED_TOTAL_MAX: usize = 5_000_000;
/// Of one function: other blocks times variables, which cost less; of that engine at most 163,000.
const JOINED_MAX: usize = 4_000_000;
/// Of one function: targets of its branch tables; of engines at most 1,200.
const TARGETS_MAX: usize = 100_000;

/// Why something is not compiled.
#[derive(Debug, thiserror::Error)]
pub enum TooComplex {
    /// Not WebAssembly.
    #[error("{0}")]
    Malformed(#[from] BinaryReaderError),
    /// A count over its limit.
    #[error("it has {found} {what}; at most {limit} are allowed")]
    Count {
        /// The kind of thing that is limited.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
}

/// Counts all of a module or component, with what is nested in it.
pub fn check(wasm: &[u8]) -> Result<(), TooComplex> {
    let mut counted = Counted::default();
    for payload in Parser::new(0).parse_all(wasm) {
        counted.payload(payload?)?;
    }
    Ok(())
}

/// What has been seen so far.
#[derive(Default)]
struct Counted {
    functions: usize,
    parts: usize,
    nesting: usize,
    items: usize,
    carried: usize,
    /// For each module that is open: the most parameters of a function type, since bodies don't tell theirs.
    params: Vec<usize>,
}

fn at_most(what: &'static str, found: usize, limit: usize) -> Result<(), TooComplex> {
    if found > limit {
        return Err(TooComplex::Count { what, found, limit });
    }
    Ok(())
}

impl Counted {
    fn payload(&mut self, payload: Payload<'_>) -> Result<(), TooComplex> {
        match payload {
            Payload::Version { .. } => self.params.push(0),
            Payload::End(_) => {
                self.params.pop();
                self.nesting = self.nesting.saturating_sub(1);
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                self.parts += 1;
                self.nesting += 1;
                at_most("nested modules and components", self.parts, PARTS_MAX)?;
                at_most("levels of nested components", self.nesting, NESTING_MAX)?;
            }
            Payload::TypeSection(reader) => {
                self.items(reader.count())?;
                for group in reader {
                    for ty in group?.into_types() {
                        if let wasmparser::CompositeInnerType::Func(ty) = &ty.composite_type.inner
                            && let Some(most) = self.params.last_mut()
                        {
                            *most = (*most).max(ty.params().len());
                        }
                    }
                }
            }
            Payload::CodeSectionStart { count, .. } => {
                self.functions = self.functions.saturating_add(count as usize);
                at_most("functions", self.functions, FUNCTIONS_MAX)?;
            }
            Payload::CodeSectionEntry(body) => self.body(&body)?,
            Payload::ElementSection(reader) => {
                self.items(reader.count())?;
                for element in reader {
                    self.items(match element?.items {
                        wasmparser::ElementItems::Functions(items) => items.count(),
                        wasmparser::ElementItems::Expressions(_, items) => items.count(),
                    })?;
                }
            }
            Payload::ImportSection(reader) => self.items(reader.count())?,
            Payload::ExportSection(reader) => self.items(reader.count())?,
            Payload::GlobalSection(reader) => self.items(reader.count())?,
            Payload::TableSection(reader) => self.items(reader.count())?,
            Payload::MemorySection(reader) => self.items(reader.count())?,
            Payload::DataSection(reader) => self.items(reader.count())?,
            Payload::CoreTypeSection(reader) => self.items(reader.count())?,
            Payload::InstanceSection(reader) => self.items(reader.count())?,
            Payload::ComponentInstanceSection(reader) => self.items(reader.count())?,
            Payload::ComponentAliasSection(reader) => self.items(reader.count())?,
            Payload::ComponentTypeSection(reader) => self.items(reader.count())?,
            Payload::ComponentCanonicalSection(reader) => self.items(reader.count())?,
            Payload::ComponentImportSection(reader) => self.items(reader.count())?,
            Payload::ComponentExportSection(reader) => self.items(reader.count())?,
            _ => {}
        }
        Ok(())
    }

    fn items(&mut self, count: u32) -> Result<(), TooComplex> {
        self.items = self.items.saturating_add(count as usize);
        at_most("entries in its sections", self.items, ITEMS_MAX)
    }

    fn body(&mut self, body: &FunctionBody<'_>) -> Result<(), TooComplex> {
        at_most("bytes in one function", body.range().len(), BODY_BYTES_MAX)?;
        let mut variables = self.params.last().copied().unwrap_or_default();
        for local in body.get_locals_reader()? {
            variables = variables.saturating_add(local?.0 as usize);
        }
        let (mut loops, mut blocks, mut uses) = (0_usize, 0_usize, 0_usize);
        let (mut targets, mut depth) = (0_usize, 0_usize);
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            match operators.read()? {
                Operator::Loop { .. } => {
                    loops += 1;
                    depth += 1;
                }
                Operator::Block { .. } | Operator::If { .. } => {
                    blocks += 1;
                    depth += 1;
                }
                Operator::End => depth = depth.saturating_sub(1),
                Operator::LocalGet { .. } | Operator::LocalSet { .. } | Operator::LocalTee { .. } => {
                    uses += 1
                }
                Operator::BrTable { targets: table } => {
                    targets = targets.saturating_add(table.len() as usize);
                    at_most("targets of branch tables in one function", targets, TARGETS_MAX)?;
                }
                _ => {}
            }
            at_most("levels of nested blocks", depth, DEPTH_MAX)?;
        }
        let variables = variables.min(uses);
        let joined = blocks.saturating_mul(variables);
        at_most("blocks times variables in one function", joined, JOINED_MAX)?;
        let carried = loops.saturating_mul(variables);
        at_most("loops times variables in one function", carried, CARRIED_MAX)?;
        self.carried = self.carried.saturating_add(carried);
        at_most("loops times variables", self.carried, CARRIED_TOTAL_MAX)
    }
}
