export { deliverSteering } from '../src/drive/hook/user-prompt-submit.ts';
