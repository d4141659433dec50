export async function main(argv: string[]): Promise<void> {
  process.stdout.write(argv.join());
}
