/** The part of JSON Schema that the catalogue uses. */
export interface JsonSchema {
  type?: string;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  additionalProperties?: boolean | JsonSchema;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  contentMediaType?: string;
  description?: string;
  default?: unknown;
  'x-heddle'?: Hint;
}

/** What JSON Schema can't say about a parameter; newer servers tell it. */
export interface Hint {
  /** The control that fits. A name that is not known here counts as none. */
  widget?: string;
  /** Needed before the run: no expression may stand there. */
  literal?: boolean;
  /** Which names an expression there has beside the usual ones. */
  scope?: string;
  /** `main`, or `advanced` for what is shown on demand. */
  group?: string;
  /** Of code. */
  language?: string;
  /** Of durations: `milliseconds` or `seconds`. */
  unit?: string;
  /** Of time zones: whether an offset such as `+02:00` will do. */
  offsets?: boolean;
  /** Which connections fit: `http`, `sql`, `smtp`, `mailbox`, `chat`. */
  connectionKinds?: string[];
}
