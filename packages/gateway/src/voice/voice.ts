/**
 * The relay between a board and its voice server, so that a board keeps its voice assistant while clients of the gateway
 * use its tools. To the server the relay is the board, to the board it is the server. Which tools the server may call is
 * handed in.
 */
export { type AccountShelf, VoiceAccounts } from "./accounts.ts";
export { VoiceRelay, type VoiceServer } from "./relay.ts";
export { UdpAudio } from "./udp-audio.ts";
export { UpstreamOta } from "./upstream-ota.ts";
export type { BoardTools } from "./upstream-tools.ts";
