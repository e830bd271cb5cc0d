import * as z from 'zod';

/** An ISO-8601 instant in UTC, with or without fractions of a second: `2026-02-28T10:00:00Z`. */
export const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/);
export const count = z.int().min(0);
