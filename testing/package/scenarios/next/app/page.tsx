export default function Page() {
  return <p>Tidemark</p>
}
