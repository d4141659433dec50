/**
 * What a caller that may give up hands along. An AbortSignal is one; the HTTP door uses a lighter one of its own,
 * because an AbortController for every request costs more than anything else it does.
 */
export interface Cancellation {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
