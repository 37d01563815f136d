//! The heap over a native block: blocks never overlap, content survives, memory is used again.

use super::{CLASSES, GRAIN, Grow, Heap, SIZE_MAX, class_of, size_of};
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};
use std::alloc::Layout;
use std::ptr::NonNull;

/// A fixed amount of memory, given out in growing pieces, with holes between them when `holes`.
struct Block {
    words: Vec<u64>,
    given: usize,
    holes: bool,
}

const TOTAL: usize = 8 << 20;
const PAGE: usize = 64 << 10;

// SAFETY: pieces of a vector that lives as long as the heap, each given once.
unsafe impl Grow for Block {
    fn grow(&mut self, bytes: usize) -> Option<(NonNull<u8>, usize)> {
        let bytes = bytes.next_multiple_of(PAGE);
        let start = self.given + if self.holes { PAGE } else { 0 };
        if start + bytes > TOTAL {
            return None;
        }
        self.given = start + bytes;
        let base: *mut u8 = self.words.as_mut_ptr().cast();
        Some((NonNull::new(base.wrapping_add(start))?, bytes))
    }
}

fn heap(holes: bool) -> Heap<Block> {
    Heap::new(Block {
        words: vec![0; TOTAL / 8],
        given: 0,
        holes,
    })
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 8).unwrap()
}

#[test]
fn classes_hold_their_sizes_and_waste_at_most_a_quarter() {
    let mut last = 0;
    for class in 0..CLASSES {
        let size = size_of(class);
        assert!(size > last && size.is_multiple_of(GRAIN));
        assert_eq!(class_of(size), class);
        assert_eq!(class_of(last + 1), class);
        assert!(size <= 64 || size <= (last + 1) + (last + 1) / 4 + GRAIN);
        last = size;
    }
    assert_eq!(last, SIZE_MAX);
}

#[derive(Clone, Debug)]
enum Step {
    Allocate { size: usize, align_log: u32 },
    Release(usize),
    Resize(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let size = || prop_oneof![0..200_usize, 0..20_000_usize, 0..600_000_usize];
    prop_oneof![
        (size(), prop_oneof![0..4_u32, 0..8_u32])
            .prop_map(|(size, align_log)| Step::Allocate { size, align_log }),
        any::<usize>().prop_map(Step::Release),
        (any::<usize>(), size()).prop_map(|(at, size)| Step::Resize(at, size)),
    ]
}

/// A live block, filled with a byte of its own.
struct Live {
    block: *mut u8,
    layout: Layout,
    mark: u8,
}

impl Live {
    fn fill(&self) {
        // SAFETY: a live block of this size.
        unsafe { self.block.write_bytes(self.mark, self.layout.size()) };
    }

    fn is_intact(&self, bytes: usize) -> bool {
        // SAFETY: a live block of at least this size, filled.
        unsafe { std::slice::from_raw_parts(self.block, bytes) }
            .iter()
            .all(|&byte| byte == self.mark)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn blocks_keep_their_content(steps in proptest::collection::vec(step(), 1..200), holes in any::<bool>()) {
        let mut heap = heap(holes);
        let mut live: Vec<Live> = Vec::new();
        for (at, step) in steps.into_iter().enumerate() {
            match step {
                Step::Allocate { size, align_log } => {
                    let layout = Layout::from_size_align(size, 1 << align_log).unwrap();
                    let block = heap.allocate(layout);
                    if !block.is_null() {
                        assert_eq!(block.addr() % layout.align(), 0);
                        live.push(Live { block, layout, mark: at as u8 });
                        live[live.len() - 1].fill();
                    }
                }
                Step::Release(at) if !live.is_empty() => {
                    let gone = live.swap_remove(at % live.len());
                    assert!(gone.is_intact(gone.layout.size()));
                    // SAFETY: a live block, not used again.
                    unsafe { heap.release(gone.block, gone.layout) };
                }
                Step::Resize(at, size) if !live.is_empty() => {
                    let at = at % live.len();
                    // SAFETY: a live block, replaced unless null.
                    let block = unsafe { heap.resize(live[at].block, live[at].layout, size) };
                    if !block.is_null() {
                        let kept = live[at].layout.size().min(size);
                        live[at].layout = Layout::from_size_align(size, live[at].layout.align()).unwrap();
                        live[at].block = block;
                        assert_eq!(block.addr() % live[at].layout.align(), 0);
                        assert!(live[at].is_intact(kept));
                        live[at].fill();
                    }
                }
                _ => {}
            }
        }
        for each in live {
            assert!(each.is_intact(each.layout.size()));
        }
    }
}

#[test]
fn a_freed_block_is_used_again() {
    let mut heap = heap(false);
    let first = heap.allocate(layout(100));
    // SAFETY: a live block, not used again.
    unsafe { heap.release(first, layout(100)) };
    assert_eq!(heap.allocate(layout(110)), first);
}

#[test]
fn the_last_block_grows_in_place() {
    let mut heap = heap(false);
    let block = heap.allocate(layout(100));
    // SAFETY: a live block.
    assert_eq!(unsafe { heap.resize(block, layout(100), 10_000) }, block);
    // SAFETY: a live block.
    assert_eq!(unsafe { heap.resize(block, layout(10_000), 50) }, block);
    let next = heap.allocate(layout(8));
    assert_eq!(next.addr(), block.addr() + 56);
}

#[test]
fn when_memory_has_run_out_larger_free_blocks_are_cut() {
    let mut heap = heap(false);
    let mut blocks = Vec::new();
    loop {
        let block = heap.allocate(layout(64 << 10));
        if block.is_null() {
            break;
        }
        blocks.push(block);
    }
    assert!(blocks.len() * (64 << 10) > TOTAL * 9 / 10);
    assert!(heap.allocate(layout(SIZE_MAX + 1)).is_null());
    while !heap.allocate(layout(8)).is_null() {}
    for block in blocks {
        // SAFETY: a live block, not used again.
        unsafe { heap.release(block, layout(64 << 10)) };
    }
    let small = (0..)
        .take_while(|_| !heap.allocate(layout(1_000)).is_null())
        .count();
    assert!(small > TOTAL / 1_024 * 9 / 10, "{small}");
}

#[test]
fn what_grows_again_and_again_finds_its_memory_again() {
    let mut heap = heap(false);
    let mut first = None;
    for round in 0..200 {
        // Something small stays behind each time, as records of a file may.
        let kept = heap.allocate(layout(24));
        assert!(!kept.is_null(), "round {round}");
        let (mut block, mut size) = (heap.allocate(layout(64)), 64);
        while size < 300_000 {
            // SAFETY: the block came from this heap for this layout.
            block = unsafe { heap.resize(block, layout(size), size * 2) };
            assert!(!block.is_null(), "round {round}, {size} bytes");
            size *= 2;
        }
        // SAFETY: as above.
        unsafe { heap.release(block, layout(size)) };
        // After the sizes on its way have been left behind once, nothing more is taken.
        if round == 50 {
            first = Some(heap.source.given);
        }
    }
    assert_eq!(first, Some(heap.source.given));
}
