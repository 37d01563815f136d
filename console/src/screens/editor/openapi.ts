/** Node types of an OpenAPI document, put into the pattern that is open. Pure. */

import type { Edit } from '$/graph/edit';
import { isEqual } from '$/graph/equal';
import { type Definition, definitionOf, type Doc } from '$/graph/model';

/** Adds definitions to a document: what is there already is not added again, and one whose name is taken gets another. */
export function definingEdit(doc: Doc, title: string, definitions: Record<string, unknown>): Edit {
  const taken = new Set(Object.keys(doc.definitions));
  const edits = Object.entries(definitions).flatMap(([wanted, value]): Edit[] => {
    if (isEqual(definitionOf(doc, wanted), value)) return [];
    let name = wanted;
    for (let number = 2; taken.has(name); number += 1) name = `${wanted}${number}`;
    taken.add(name);
    return [{ kind: 'define', name, value: value as Definition }];
  });
  return { kind: 'batch', title: `Import “${title}”`, edits };
}
