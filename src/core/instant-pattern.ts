/** An ISO-8601 instant in UTC, with or without fractions of a second: `2026-02-28T10:00:00Z`. */
export const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;
