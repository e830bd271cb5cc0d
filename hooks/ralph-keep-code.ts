export { keepCode, type Uncached } from '../src/drive/hook/keep-code.ts';
