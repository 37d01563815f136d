/** Keys that a field keeps to itself: undo and redo of its text are not those of the document. */
export function keepOwnKeys(event: KeyboardEvent): void {
  const isUndo = (event.metaKey || event.ctrlKey) && /^[zy]$/i.test(event.key);
  if (isUndo) event.stopPropagation();
}
