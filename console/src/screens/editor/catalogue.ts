/** The node types that the server has. */

import { fetchNodeTypes } from '$/api/queries';
import { type Catalogue, makeCatalogue, type NodeType } from '$/graph/catalogue';

export async function catalogue(): Promise<Catalogue> {
  return makeCatalogue((await fetchNodeTypes()) as unknown as NodeType[]);
}
