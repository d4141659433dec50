/**
 * Admits a device, and tries again after its credentials were read from the store: in a cluster another node may have
 * issued them a moment ago. Without a reason to read them, everything happens at once.
 */
export function admitOrRefresh<Admitted>(
  admit: () => Admitted,
  {
    refresh,
    accepted,
    rejected,
  }: {
    /** `undefined` if nothing can be read. */
    readonly refresh: (error: unknown) => Promise<void> | undefined;
    readonly accepted: (admitted: Admitted) => void;
    readonly rejected: (error: unknown) => void;
  },
): void {
  const settle = (again: boolean) => {
    let admitted: Admitted;
    try {
      admitted = admit();
    } catch (error) {
      const refreshed = again ? undefined : refresh(error);
      if (refreshed === undefined) rejected(error);
      else void refreshed.then(() => settle(true));
      return;
    }
    accepted(admitted);
  };
  settle(false);
}
