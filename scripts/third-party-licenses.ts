import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

type Package = Readonly<Record<'name' | 'version' | 'license', string>>;

/** Returns the licences of the packages in the program, each text once. Throws if a package has none. */
export function thirdPartyLicenses(root: string, { outputs }: Metafile): string {
  const inputs = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  const folders = new Set(inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []));
  const byText = new Map<string, string[]>();
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Package;
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e(?:\.\w+)?$/i.test(entry));
    if (file === undefined) throw new Error(`${folder} has no licence file`);
    const text = readFileSync(join(root, folder, file), 'utf8').trim();
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const rule = '-'.repeat(80);
  return [...byText].map(([text, names]) => `${names.join('\n')}\n\n${text}\n`).join(`\n${rule}\n\n`);
}
