import { syncBuiltinESMExports } from 'node:module';
import util from 'node:util';

// The bundler passes lists of formats when it is loaded, which node takes from 20.13 on.
const { styleText } = util;
type Formats = Parameters<typeof styleText>[0];
util.styleText = (formats: Formats, text, ...rest) =>
  [formats].flat().reduce((styled, format) => styleText(format, styled, ...rest), text);
syncBuiltinESMExports();
