/** Paths to values, as the service writes them: `output.items[0].id`. Pure. */

/** A field, an element, or `null` for any of either. */
export type Step = string | number | null;

const STEP = /^(?:\.?([^.[\]"]+)|\[(\d+|\*)\]|\[("(?:[^"\\]|\\.)*")\])/;

/** The steps of a path; undefined for a text that is none. */
export function stepsOf(path: string): Step[] | undefined {
  const steps: Step[] = [];
  let rest = path;
  while (rest !== '') {
    const found = STEP.exec(rest);
    if (!found) return undefined;
    const [all, name, index, quoted] = found;
    if (name !== undefined) steps.push(name === '*' ? null : name);
    else if (index !== undefined) steps.push(index === '*' ? null : Number(index));
    else if (quoted !== undefined) steps.push(JSON.parse(quoted) as string);
    rest = rest.slice(all.length);
  }
  return steps.length > 0 ? steps : undefined;
}

const PLAIN = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/** The path of these steps. */
export function pathOf(steps: readonly Step[]): string {
  return steps
    .map((step, at) => {
      if (step === null) return '[*]';
      if (typeof step === 'number') return `[${step}]`;
      if (!PLAIN.test(step)) return `[${JSON.stringify(step)}]`;
      return at > 0 ? `.${step}` : step;
    })
    .join('');
}

/** The same path in every element; undefined for one that leads through no list. */
export function inEveryElement(path: string): string | undefined {
  const steps = stepsOf(path);
  if (!steps?.some((step) => typeof step === 'number')) return undefined;
  return pathOf(steps.map((step) => (typeof step === 'number' ? null : step)));
}

/** What is at a path of a value; undefined if nothing is. */
export function valueAt(value: unknown, steps: readonly Step[]): unknown {
  return steps.reduce<unknown>((inner, step) => {
    if (typeof inner !== 'object' || inner === null || step === null) return undefined;
    return Object.hasOwn(inner, step) ? (inner as Record<Step & PropertyKey, unknown>)[step] : undefined;
  }, value);
}
