export { keepCode, type Uncached } from '../src/drive/keep-code.ts';
