import { splitOptions } from '../split-options.ts';
import type { PathUses } from './path-user.ts';

/** What many programs call the option for the file that they write. */
const COMMON = '--output --output-file --outfile --outFile --out-file';

/** Programs that have another name for it. */
const OUTPUTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    'gcc g++ cc c++ clang clang++ ld rustc swiftc go pandoc gpg gpg2 age aria2c shuf base64 dot xsltproc nasm time gtime strace ltrace'
      .split(' ')
      .map((name) => [name, '-o']),
  ),
  openssl: '-out -keyout',
  tcpdump: '-w',
  curl: '--trace --trace-ascii --stderr --etag-save --hsts --alt-svc',
  esbuild: '--metafile',
  csplit: '-f --prefix',
};

/** Records the files that a command writes by an option for its output. */
export function writeNamedFiles(name: string, { args, write }: PathUses): void {
  const named = `${COMMON} ${Object.hasOwn(OUTPUTS, name) ? OUTPUTS[name] : ''}`.trim();
  const names = new Set(named.split(' '));
  for (const option of splitOptions(args, named).options) {
    if (option.value !== undefined && names.has(option.name)) write(option.value, 'argument');
  }
}
