import schemas from '../../.build/state-shapes.json' with { type: 'json' };
import { checkShape, type Shape } from './check-shape.ts';

const { commonPart, fourKeyState, statusPart } = schemas as Record<keyof typeof schemas, Shape>;

/** null when the value is a state of ours, else what is wrong with it and where. */
export function validateLoopState(value: unknown): string | null {
  return checkShape(value, commonPart) ?? checkShape(value, statusPart);
}

/** null when the value has the four keys with the right types, else what is wrong with it and where. */
export function validateFourKeyState(value: unknown): string | null {
  return checkShape(value, fourKeyState);
}
