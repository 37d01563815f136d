/** Which lines of two texts differ. Pure. */

export interface Line {
  kind: 'same' | 'added' | 'removed' | 'omitted';
  text: string;
}

/** Lines that are compared one by one; of longer texts the middle is said to differ as a whole. */
const COMPARED_MAX = 500;
/** Unchanged lines around those that differ. */
const AROUND = 2;
/** Lines that are shown. */
const SHOWN_MAX = 300;

/** The lines of both, in order, without those far from any difference. */
export function linesOf(before: string, after: string): Line[] {
  const [was, is] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < was.length && start < is.length && was[start] === is[start]) start += 1;
  let end = 0;
  while (
    end < was.length - start &&
    end < is.length - start &&
    was[was.length - 1 - end] === is[is.length - 1 - end]
  )
    end += 1;
  const same = (text: string): Line => ({ kind: 'same', text });
  const lines = [
    ...was.slice(0, start).map(same),
    ...middle(was.slice(start, was.length - end), is.slice(start, is.length - end)),
    ...was.slice(was.length - end).map(same),
  ];
  const shown = shortened(lines);
  return shown.length <= SHOWN_MAX
    ? shown
    : [...shown.slice(0, SHOWN_MAX), omitted(shown.length - SHOWN_MAX, 'more')];
}

/** By the longest common subsequence. */
function middle(was: readonly string[], is: readonly string[]): Line[] {
  const removed = (text: string): Line => ({ kind: 'removed', text });
  const added = (text: string): Line => ({ kind: 'added', text });
  if (was.length > COMPARED_MAX || is.length > COMPARED_MAX) return [...was.map(removed), ...is.map(added)];
  const width = is.length + 1;
  const lengths = new Uint16Array((was.length + 1) * width);
  const at = (line: number, other: number): number => lengths[line * width + other] ?? 0;
  for (let line = was.length - 1; line >= 0; line -= 1) {
    for (let other = is.length - 1; other >= 0; other -= 1) {
      lengths[line * width + other] =
        was[line] === is[other]
          ? at(line + 1, other + 1) + 1
          : Math.max(at(line + 1, other), at(line, other + 1));
    }
  }
  const lines: Line[] = [];
  let [line, other] = [0, 0];
  while (line < was.length || other < is.length) {
    const [old, now] = [was[line], is[other]];
    if (old !== undefined && old === now) {
      lines.push({ kind: 'same', text: old });
      line += 1;
      other += 1;
    } else if (old !== undefined && (now === undefined || at(line + 1, other) >= at(line, other + 1))) {
      lines.push(removed(old));
      line += 1;
    } else if (now !== undefined) {
      lines.push(added(now));
      other += 1;
    }
  }
  return lines;
}

const omitted = (count: number, what: string): Line => ({
  kind: 'omitted',
  text: `${count} ${what} ${count === 1 ? 'line' : 'lines'}`,
});

/** Long stretches of unchanged lines become one that says how many there are. */
function shortened(lines: readonly Line[]): Line[] {
  const near = lines.map((_, place) =>
    lines.slice(Math.max(0, place - AROUND), place + AROUND + 1).some(({ kind }) => kind !== 'same'),
  );
  const shown: Line[] = [];
  let hidden: Line[] = [];
  const flush = () => {
    // A line that says that one line is left out takes as much room as that line.
    if (hidden.length === 1) shown.push(...hidden);
    else if (hidden.length > 1) shown.push(omitted(hidden.length, 'unchanged'));
    hidden = [];
  };
  lines.forEach((line, place) => {
    if (near[place]) {
      flush();
      shown.push(line);
    } else hidden.push(line);
  });
  flush();
  return shown;
}
