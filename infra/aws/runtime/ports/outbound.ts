import { openOutbound } from '../../../../lib/ports/outbound/outbound.ts';
import { settings } from '../environment.ts';

export const outbound = () => openOutbound(settings());
