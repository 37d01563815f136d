// What code imports as "luxon": the globals of this name, as they were made.
export const { DateTime, Duration, Interval } = globalThis;
