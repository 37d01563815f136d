//! What edges lead to, of any graph whose nodes are numbers.

/// Which of so many nodes can be reached from one by these edges, itself among them. Edges of other nodes lead nowhere.
pub(crate) fn reached(nodes: usize, edges: impl Iterator<Item = (usize, usize)>, start: usize) -> Vec<bool> {
    let mut next = vec![Vec::new(); nodes];
    for (source, target) in edges {
        if let Some(list) = next.get_mut(source) {
            list.push(target);
        }
    }
    let mut reached = vec![false; nodes];
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        if let Some(known) = reached.get_mut(node).filter(|known| !**known) {
            *known = true;
            open.extend(next.get(node).into_iter().flatten().copied());
        }
    }
    reached
}
