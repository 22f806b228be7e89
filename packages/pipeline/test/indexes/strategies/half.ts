export default { name: 'half', prepare() {} }
