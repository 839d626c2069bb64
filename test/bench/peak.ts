/** Preloaded into every program of the bench: at its end it writes down the most memory that it ever had. */
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  // `maxRSS` is in kilobytes.
  writeFileSync(process.env['PEAK_FILE'] ?? '', String(process.resourceUsage().maxRSS / 1024));
});
