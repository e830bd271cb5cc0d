import texts from '../../../.build/templates.json' with { type: 'json' };

/** Returns a template or skill by its path in the bundle; the program contains all of them. */
export function bundledText(path: string): string {
  const text = (texts as Readonly<Record<string, string>>)[path];
  if (text === undefined) throw new Error(`the bundle has no ${path}`);
  return text;
}
