import * as z from 'zod';
import { INSTANT } from '../../text/time.ts';

/** ISO-8601 instant in UTC, with or without fractions of a second: `2026-02-28T10:00:00Z`. */
export const instant = z.string().regex(INSTANT);
export const count = z.int().min(0);
