/**
 * A process that makes one delivery, to be killed: `node delivery-program.ts <type> <config as JSON> <lines>
 * <receipt file> [<other fields of the delivery as JSON>]`.
 */
import { flushCompileCache } from 'node:module';
import { destinationOf } from '../../lib/exports/destinations/index.ts';
import { delivery, send } from './delivery.ts';

// A process that is killed would keep nothing for the next one.
flushCompileCache();

const [type = '', config = '', count = '', receiptFile = '', changes = '{}'] = process.argv.slice(2);
const destination = destinationOf(type);
if (destination === undefined) throw new Error(`no destination '${type}'`);
await send(
  destination,
  delivery(destination, JSON.parse(config) as Record<string, unknown>, Number(count), JSON.parse(changes) as object),
  receiptFile,
);
