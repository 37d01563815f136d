/** Where a value from the data drawer goes: the field that had the focus last. */

export interface InsertTarget {
  /** The field's name, for people. */
  label: string;
  insert: (expression: string) => void;
}

/** One for an editor: its inspector sets the target, its data drawer uses it. */
export class InsertTargets {
  current = $state.raw<InsertTarget>();

  /** A field has the focus. */
  enter(target: InsertTarget): void {
    this.current = target;
  }

  /** A field is gone. */
  leave(target: InsertTarget): void {
    if (this.current === target) this.current = undefined;
  }
}

/** The type under which a value's expression is dragged. */
export const DRAG_TYPE = 'application/x-heddle-expression';
