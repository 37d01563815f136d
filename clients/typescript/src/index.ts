/** A client of heddle's API. */

export { Heddle, type AnyOptions, type Following, type Settings, type Waiting } from './client.js';
export { HeddleError, RunFailedError, type Detail } from './error.js';
export type { components, operations, paths } from './schema.js';
export type {
  Answer,
  ListPath,
  Options,
  RunMessage,
  RunsMessage,
  Schemas,
  WorkspaceMessage,
} from './types.js';
export {
  sendWebhook,
  signWebhook,
  verifyWebhook,
  type WebhookAnswer,
  type WebhookOptions,
} from './webhooks.js';
