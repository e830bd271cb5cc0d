import type * as z from 'zod';

/** The type without what makes it optional. */
export function bareType(type: unknown): z.ZodType | undefined {
  const known = type as z.ZodType | undefined;
  return known?.def.type === 'optional' ? bareType((known as z.ZodOptional).unwrap()) : known;
}

/** The keys of a mapping, or of all mappings among several forms; null where there is none. */
export function mappingShape(type: unknown): Record<string, unknown> | null {
  const bare = bareType(type);
  if (bare?.def.type === 'object') return (bare as z.ZodObject).shape;
  if (bare?.def.type !== 'union') return null;
  const shapes = (bare as z.ZodUnion<z.ZodType[]>).options.map(mappingShape).filter((shape) => shape !== null);
  return shapes.length === 0 ? null : Object.assign({}, ...shapes);
}

/** What each element of a list must be; undefined where the type is no list. */
export function elementType(type: unknown): unknown {
  const bare = bareType(type);
  return bare?.def.type === 'array' ? (bare as z.ZodArray).element : undefined;
}

/** Every key path of nested mappings, each group after its keys' parent: `idle`, `idle.delay`, … */
export function keyPaths(type: unknown, parent = ''): { readonly path: string; readonly type: unknown }[] {
  const bare = bareType(type);
  if (bare?.def.type !== 'object') return [];
  return Object.entries((bare as z.ZodObject).shape).flatMap(([key, inner]) => {
    const path = parent === '' ? key : `${parent}.${key}`;
    return [{ path, type: inner }, ...keyPaths(inner, path)];
  });
}
