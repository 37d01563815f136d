/** OpenAPI documents that are chosen in the editor. */

import { isOpenApi } from '$/api/openapi';
import { chosenFile } from '$/canvas';
import { contentOf } from '../patterns/actions';

/** A document that the user chooses; undefined if they choose none. */
export async function chosenApi(): Promise<Record<string, unknown> | undefined> {
  const file = await chosenFile('application/json,.json');
  if (!file) return undefined;
  const body = await contentOf(file);
  if (isOpenApi(body)) return body;
  throw new Error(`“${file.name}” is not an OpenAPI document: it names no version of OpenAPI.`);
}
