/** The event that a run by hand begins with. Pure: `tests/unit/screens.test.ts`. */

import type { Catalogue } from '$/graph/catalogue';
import { indexOf, type Doc } from '$/graph/model';
import { exampleOf } from '$/run/setup';
import { startsBy } from '../triggers';

/** The example of the trigger that the run starts at: the one for runs by hand, else the first. As text. */
export function eventFor(
  doc: Doc,
  types: Catalogue,
  triggers: readonly { readonly type: string; readonly nodeId: string }[],
): string {
  const trigger = triggers.find((each) => startsBy(each, 'manual')) ?? triggers[0];
  if (!trigger) return '{}';
  const node = indexOf(doc.graph).nodes.get(trigger.nodeId);
  const text = exampleOf({
    id: trigger.nodeId,
    name: '',
    type: trigger.type,
    examples: types.byName.get(trigger.type)?.examples,
    ownExample: node?.data?.['exampleEvent'],
  });
  return text === 'null' ? '{}' : text;
}
