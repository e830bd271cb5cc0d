import { main } from '../src/cli/command-line.ts';

void main(process.argv.slice(2));
