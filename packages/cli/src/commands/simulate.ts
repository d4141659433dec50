export async function simulateEsp32(_options: object): Promise<void> {}
