//! Things by numbers that stay.

/// Slots that are used again.
pub(super) struct Arena<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Arena<T> {
    pub(super) fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = Some(item);
                index
            }
            None => {
                self.slots.push(Some(item));
                self.slots.len() as u32 - 1
            }
        }
    }

    pub(super) fn get(&self, index: u32) -> Option<&T> {
        self.slots.get(index as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slots.get_mut(index as usize)?.as_mut()
    }

    /// Removes the items for which this holds.
    pub(super) fn remove_all(&mut self, holds: impl Fn(&T) -> bool) -> Vec<T> {
        let indexes = (0..self.slots.len() as u32).filter(|index| self.get(*index).is_some_and(&holds));
        let indexes: Vec<u32> = indexes.collect();
        indexes
            .into_iter()
            .filter_map(|index| self.remove(index))
            .collect()
    }

    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let item = self.slots.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(item)
    }
}
